//! Prompts that are JSON: of a decorated function's inputs only the values.

use crate::words::{is_space, is_word_sign};

const KEY_CHARS: usize = 40;

/// Keys (`"\w{1,40}"\s*:`) and the signs of JSON become spaces.
pub fn without_keys(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some(end) = key_end(text, at) {
            plain.push(b' ');
            at = end;
            continue;
        }
        plain.push(match text[at] {
            b'{' | b'}' | b'[' | b']' | b'"' | b',' => b' ',
            other => other,
        });
        at += 1;
    }
    plain
}

fn key_end(text: &[u8], at: usize) -> Option<usize> {
    if text[at] != b'"' {
        return None;
    }
    let size = text[at + 1..]
        .iter()
        .take_while(|byte| is_word_sign(**byte))
        .count();
    let quote = at + 1 + size;
    if size == 0 || size > KEY_CHARS || text.get(quote) != Some(&b'"') {
        return None;
    }
    let spaces = text[quote + 1..]
        .iter()
        .take_while(|byte| is_space(**byte))
        .count();
    let colon = quote + 1 + spaces;
    if text.get(colon) == Some(&b':') {
        Some(colon + 1)
    } else {
        None
    }
}
