//! The newest user message of a model call's input: `dialects/long_input.py`, without parsing it.
//!
//! Only conversations of the usual form, a list of messages with a known role each; None for others.

use crate::json::{Scan, Written};
use crate::messages::unescaped;

/// Longer texts Python searches from their end, which takes no longer than to pass over them.
const LONG: usize = 24_576;
const TEXT_KEYS: [&[u8]; 5] = [b"text", b"content", b"parts", b"value", b"thinking"];

/// Roles that mean a user, other known roles, and types of parts that bring back results.
pub struct Known<'a> {
    pub users: Vec<&'a [u8]>,
    pub others: Vec<&'a [u8]>,
    pub results: Vec<&'a [u8]>,
}

/// The newest user message, and how many there are.
pub struct Newest {
    pub text: Option<Vec<u8>>,
    pub count: usize,
}

/// A message of a user: where its text stands, and whether it only brings back results.
struct Message {
    text_at: usize,
    is_result: bool,
}

pub fn newest_user(text: &[u8], known: &Known<'_>) -> Option<Newest> {
    if text.len() > LONG {
        return None;
    }
    let mut scan = Scan::new(text, 0);
    let mut users = Vec::new();
    let mut messages = 0;
    let mut each = |scan: &mut Scan<'_>| {
        messages += 1;
        read_message(scan, known).map(|found| users.extend(found))
    };
    match text.first()? {
        b'[' => scan.items(&mut each)?,
        _ => wrapped(&mut scan, &mut each)?,
    }
    if !scan.is_done() || messages == 0 {
        return None;
    }
    let newest = users.iter().rfind(|message| !message.is_result);
    let count = users.iter().filter(|message| !message.is_result).count();
    let text = match newest {
        Some(message) => Some(text_at(text, message.text_at)?),
        None => None,
    };
    Some(Newest { text, count })
}

/// `{"messages": [...]}`, beside anything that makes it no message itself.
fn wrapped<'a>(
    scan: &mut Scan<'a>,
    each: &mut impl FnMut(&mut Scan<'a>) -> Option<()>,
) -> Option<()> {
    let mut is_found = false;
    scan.members(|scan, key| match key.plain()? {
        b"role" | b"type" | b"id" => None,
        b"messages" if is_found => None,
        b"messages" => {
            is_found = true;
            scan.items(&mut *each)
        }
        _ => scan.value(1),
    })?;
    if is_found {
        Some(())
    } else {
        None
    }
}

/// A message; something only when a user said it.
fn read_message(scan: &mut Scan<'_>, known: &Known<'_>) -> Option<Option<Message>> {
    let mut role: Option<&[u8]> = None;
    let mut lists = [None; 3];
    let mut has_call_id = false;
    scan.members(|scan, key| {
        let place = match key.plain()? {
            b"role" if role.is_some() => return None,
            b"role" => {
                role = Some(scan.string()?.plain()?);
                return Some(());
            }
            b"parts" => 0,
            b"content" => 1,
            b"contents" => 2,
            other => {
                has_call_id |= other == b"tool_call_id";
                return scan.value(2);
            }
        };
        scan.peek()?;
        if lists[place].replace(scan.at).is_some() {
            return None;
        }
        scan.value(2)
    })?;
    let role = role?;
    let text_at = lists[0].or(lists[1])?;
    if known.others.contains(&role) {
        return Some(None);
    }
    if !known.users.contains(&role) || has_call_id {
        return None;
    }
    let parts = lists.iter().flatten().find(|at| scan.text[**at] == b'[');
    let is_result = match parts {
        Some(at) => only_results(Scan::new(scan.text, *at), known)?,
        None => false,
    };
    Some(Some(Message { text_at, is_result }))
}

/// Whether all parts bring back results of tools; None where a part is of an unknown type.
fn only_results(mut scan: Scan<'_>, known: &Known<'_>) -> Option<bool> {
    let (mut speaks, mut is_unknown, mut results) = (false, false, 0);
    scan.items(|scan| {
        if scan.peek()? != b'{' {
            speaks = true;
            return scan.value(2);
        }
        let mut kind: Option<Written<'_>> = None;
        scan.members(|scan, key| {
            if key.plain()? != b"type" {
                return scan.value(3);
            }
            if kind.is_some() || scan.peek()? != b'"' {
                return None;
            }
            kind = Some(scan.string()?);
            Some(())
        })?;
        match kind.and_then(Written::plain) {
            Some(b"text") => speaks = true,
            Some(kind) if known.results.contains(&kind) => results += 1,
            _ => is_unknown = true,
        }
        Some(())
    })?;
    match (speaks, is_unknown) {
        (true, _) => Some(false),
        (false, true) => None,
        (false, false) => Some(results > 0),
    }
}

/// `flatten_text`: all text of a message, parts joined by line breaks.
fn text_at(text: &[u8], at: usize) -> Option<Vec<u8>> {
    let mut scan = Scan::new(text, at);
    if text[at] != b'[' {
        return text_of_part(&mut scan);
    }
    let mut parts = Vec::new();
    scan.items(|scan| {
        scan.peek()?;
        parts.push(text_of_part(scan)?);
        Some(())
    })?;
    if parts.len() != 1 {
        parts.retain(|part| !part.is_empty());
    }
    Some(parts.join(&b'\n'))
}

/// Of a text, or an object with a text under one of the usual keys.
fn text_of_part(scan: &mut Scan<'_>) -> Option<Vec<u8>> {
    match scan.peek()? {
        b'"' => return unescaped(scan.string()?),
        b'{' => {}
        b'[' => return None,
        _ => return scan.value(2).map(|_| Vec::new()),
    }
    let mut found: [Option<usize>; TEXT_KEYS.len()] = [None; TEXT_KEYS.len()];
    scan.members(|scan, key| {
        let key = key.plain()?;
        scan.peek()?;
        if let Some(place) = TEXT_KEYS.iter().position(|known| *known == key) {
            if found[place].replace(scan.at).is_some() {
                return None;
            }
        }
        scan.value(3)
    })?;
    match found.iter().flatten().next() {
        None => Some(Vec::new()),
        Some(at) => {
            let mut inner = Scan::new(scan.text, *at);
            match scan.text[*at] {
                b'"' => unescaped(inner.string()?),
                b'{' | b'[' => None,
                _ => Some(Vec::new()),
            }
        }
    }
}
