//! A list of one chat message of one text, read off its raw value: `dialects/single_message.py`.

use crate::conversation::{self, Known};
use crate::json::Written;
use crate::python::{string, Answer, Borrowed, Failure, Owned};
use crate::words::{is_space, is_word_sign};

const STRING: u8 = 0x0A;

/// A message as it stands in the JSON.
pub struct Speech<'a> {
    pub role: &'a [u8],
    pub text: Vec<u8>,
}

/// Reads on from a place, as long as everything is as expected.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn skip(&mut self) {
        while self.text.get(self.at).map_or(false, |byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    /// What is wanted next, behind white space.
    fn take(&mut self, wanted: &[u8]) -> Option<()> {
        self.skip();
        if self.text[self.at..].starts_with(wanted) {
            self.at += wanted.len();
            return Some(());
        }
        None
    }

    fn take_all(&mut self, wanted: &[&[u8]]) -> Option<()> {
        wanted.iter().try_for_each(|part| self.take(part))
    }

    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let size = rest.iter().take_while(|byte| is_word_sign(**byte)).count();
        self.at += size;
        &rest[..size]
    }

    /// A JSON text behind its opening quote, up to its end.
    fn json_text(&mut self) -> Option<Vec<u8>> {
        let rest = &self.text[self.at..];
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let mut text = rest[..plain].to_vec();
        self.at += plain;
        while self.text[self.at] != b'"' {
            self.at += 1;
            self.escaped(&mut text)?;
            let rest = &self.text[self.at..];
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            text.extend_from_slice(&rest[..plain]);
            self.at += plain;
        }
        self.at += 1;
        Some(text)
    }

    /// What a backslash stands before; None for halves of a pair, which Python has a way with.
    fn escaped(&mut self, into: &mut Vec<u8>) -> Option<()> {
        let sign = *self.text.get(self.at)?;
        self.at += 1;
        let plain = match sign {
            b'"' | b'\\' | b'/' => sign,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut unit = self.hex()?;
                if (0xD800..0xDC00).contains(&unit) {
                    if !self.text[self.at..].starts_with(b"\\u") {
                        return None;
                    }
                    self.at += 2;
                    let low = self.hex()?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return None;
                    }
                    unit = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                }
                let mut room = [0; 4];
                into.extend_from_slice(char::from_u32(unit)?.encode_utf8(&mut room).as_bytes());
                return Some(());
            }
            _ => return None,
        };
        into.push(plain);
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |value, digit| {
            Some(value << 4 | char::from(*digit).to_digit(16)?)
        })
    }
}

/// The message of a JSON list that holds nothing but one, of one text; else None.
pub fn speech_in(text: &[u8]) -> Option<Speech<'_>> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.take_all(&[b"[", b"{", b"\"role\"", b":", b"\""])?;
    let role = cursor.word();
    // The quote stands right behind the word.
    if role.is_empty() || !cursor.text[cursor.at..].starts_with(b"\"") {
        return None;
    }
    cursor.at += 1;
    cursor.take(b",")?;
    let has_parts = cursor.take(b"\"content\"").is_none();
    if has_parts {
        cursor.take_all(&[
            b"\"parts\"",
            b":",
            b"[",
            b"{",
            b"\"type\"",
            b":",
            b"\"text\"",
            b",",
            b"\"content\"",
        ])?;
    }
    cursor.take_all(&[b":", b"\""])?;
    let said = cursor.json_text()?;
    cursor.take(b"}")?;
    cursor.take(b"]")?;
    if has_parts {
        if cursor.take(b",").is_some() {
            cursor.take_all(&[b"\"finish_reason\"", b":", b"\""])?;
            cursor.word();
            if !cursor.text[cursor.at..].starts_with(b"\"") {
                return None;
            }
            cursor.at += 1;
        }
        cursor.take_all(&[b"}", b"]"])?;
    }
    cursor.skip();
    if cursor.at < text.len() {
        return None;
    }
    Some(Speech { role, text: said })
}

/// What a JSON text means; None where Python has a way of its own with it.
pub fn unescaped(written: Written<'_>) -> Option<Vec<u8>> {
    if let Some(plain) = written.plain() {
        return Some(plain.to_vec());
    }
    let mut text = Vec::with_capacity(written.text.len());
    let mut cursor = Cursor {
        text: written.text,
        at: 0,
    };
    while cursor.at < written.text.len() {
        let rest = &written.text[cursor.at..];
        let plain = rest
            .iter()
            .position(|byte| *byte == b'\\')
            .unwrap_or(rest.len());
        text.extend_from_slice(&rest[..plain]);
        cursor.at += plain;
        if cursor.at < written.text.len() {
            cursor.at += 1;
            cursor.escaped(&mut text)?;
        }
    }
    Some(text)
}

/// The bytes of a string value (`AnyValue`) behind tag and length; None for others.
fn string_value(raw: &[u8]) -> Option<&[u8]> {
    if raw.first() != Some(&STRING) {
        return None;
    }
    let mut length = 0;
    for (place, byte) in raw[1..].iter().take(4).enumerate() {
        length |= usize::from(byte & 0x7F) << (7 * place);
        if *byte < 0x80 {
            return raw.get(place + 2..place + 2 + length);
        }
    }
    None
}

fn beginning(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Text of a raw value that may be JSON.
fn json_in(raw: &[u8]) -> Option<&str> {
    let value = string_value(raw)?;
    match value.first()? {
        b'[' | b'{' => std::str::from_utf8(value).ok(),
        _ => None,
    }
}

fn limit_of(limit: Borrowed<'_>) -> Answer<usize> {
    let limit = limit
        .integer()
        .and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or(Failure::Unfit("a limit is no number\0"))
}

/// A message is UTF-8: its text was, and what was escaped is.
fn utf8(text: &[u8]) -> Answer<&str> {
    std::str::from_utf8(text).map_err(|_| Failure::Unfit("no text\0"))
}

/// (role, first `limit` characters, UTF-8 of the whole) of a raw value that is a single message.
pub fn single_speech(raw: Borrowed<'_>, limit: Borrowed<'_>) -> Answer<Owned> {
    let limit = limit_of(limit)?;
    match json_in(raw.bytes()?).and_then(|text| speech_in(text.as_bytes())) {
        Some(Speech { role, text }) => {
            let head = beginning(utf8(&text)?, limit).as_bytes();
            Owned::tuple([string(role)?, string(head)?, Owned::bytes(&text)?])
        }
        None => Ok(Owned::none()),
    }
}

/// (first `limit` characters, UTF-8 of the whole, how many there are) of the newest user message.
///
/// Args: a raw value; roles of users, other roles, types of results, as tuples of texts.
pub fn newest_user(
    raw: Borrowed<'_>,
    limit: Borrowed<'_>,
    users: Borrowed<'_>,
    others: Borrowed<'_>,
    results: Borrowed<'_>,
) -> Answer<Owned> {
    let limit = limit_of(limit)?;
    let text = match json_in(raw.bytes()?) {
        Some(text) => text.as_bytes(),
        None => return Ok(Owned::none()),
    };
    let known = Known {
        users: texts(users)?,
        others: texts(others)?,
        results: texts(results)?,
    };
    let found = match speech_in(text) {
        Some(speech) if known.users.contains(&speech.role) => Some((speech.text, 1)),
        Some(speech) if known.others.contains(&speech.role) => Some((Vec::new(), 0)),
        Some(_) => None,
        None => conversation::newest_user(text, &known)
            .map(|newest| (newest.text.unwrap_or_default(), newest.count)),
    };
    match found {
        Some((text, count)) => {
            let head = beginning(utf8(&text)?, limit).as_bytes();
            Owned::tuple([string(head)?, Owned::bytes(&text)?, Owned::integer(count)?])
        }
        None => Ok(Owned::none()),
    }
}

fn texts(tuple: Borrowed<'_>) -> Answer<Vec<&[u8]>> {
    (0..tuple.tuple_size()?)
        .map(|at| {
            tuple
                .tuple_item(at)?
                .text()
                .ok_or(Failure::Unfit("no text\0"))
        })
        .collect()
}
