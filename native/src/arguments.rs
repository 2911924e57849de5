//! What arguments of a tool call touch: file stems and values, as in `content/texts.py`.

use crate::crc::crc32;
use crate::vocabulary::Vocabulary;
use crate::words::{is_space, is_word_sign, join, split, Token, Word};

const PATHS: usize = 6;
const TARGETS: usize = 4;
const STEM_CHARS: usize = 24;
const TOUCHED: usize = 3;

/// Names of the first files, without folders and endings: `_stems_of`.
pub fn stems_of(text: &[u8]) -> Vec<&[u8]> {
    let mut stems = Vec::new();
    for token in split(text) {
        if token.contains(&b'/') || token.contains(&b'.') {
            find_paths(token, &mut stems);
        }
    }
    stems
}

/// `_PATH.findall` in a token, as stems, until there are six.
fn find_paths<'a>(token: Token<'a>, stems: &mut Vec<&'a [u8]>) {
    let mut at = 0;
    // Until here no folder can begin: a run of its signs ended without a slash.
    let mut barren = 0;
    while at < token.len() && stems.len() < PATHS {
        let end = path_end(token, at, &mut barren).or_else(|| file_end(token, at));
        match end {
            Some(end) => {
                stems.push(stem_of(&token[at..end]));
                at = end;
            }
            None => at += 1,
        }
    }
}

fn is_name_sign(byte: u8) -> bool {
    is_word_sign(byte) || matches!(byte, b'.' | b'~' | b'-')
}

fn run(token: Token<'_>, begin: usize, fits: impl Fn(u8) -> bool) -> usize {
    token[begin..]
        .iter()
        .position(|byte| !fits(*byte))
        .map_or(token.len(), |size| begin + size)
}

/// `[\w.~-]*/[\w./~-]+`
fn path_end(token: Token<'_>, at: usize, barren: &mut usize) -> Option<usize> {
    if at < *barren {
        return None;
    }
    let slash = run(token, at, is_name_sign);
    let end = match token.get(slash) {
        Some(b'/') => run(token, slash + 1, |byte| is_name_sign(byte) || byte == b'/'),
        _ => slash,
    };
    if end > slash + 1 {
        return Some(end);
    }
    *barren = slash;
    None
}

/// `\b\w[\w-]*\.[a-z]\w{0,5}\b`
fn file_end(token: Token<'_>, at: usize) -> Option<usize> {
    if !is_word_sign(token[at]) || (at > 0 && is_word_sign(token[at - 1])) {
        return None;
    }
    let dot = run(token, at, |byte| is_word_sign(byte) || byte == b'-');
    if token.get(dot) != Some(&b'.') || !token.get(dot + 1)?.is_ascii_lowercase() {
        return None;
    }
    let end = run(token, dot + 1, is_word_sign);
    if end - dot - 1 > 6 {
        return None;
    }
    Some(end)
}

/// `path.rstrip("/").rpartition("/")[2].split(".", 1)[0]`
fn stem_of(path: &[u8]) -> &[u8] {
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |last| last + 1);
    let name = path[..end]
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or(b"");
    name.split(|byte| *byte == b'.').next().unwrap_or(b"")
}

/// Four hashes, of file stems, else of values: `_targets_of`.
pub fn targets_of(text: &[u8], stems: &[&[u8]]) -> [u32; TARGETS] {
    let mut distinct: Vec<&[u8]> = Vec::with_capacity(PATHS);
    for stem in stems {
        if !stem.is_empty() && !distinct.contains(stem) {
            distinct.push(stem);
        }
    }
    if distinct.is_empty() && text.first() == Some(&b'{') {
        distinct = values_of(text);
    }
    let mut targets = [0; TARGETS];
    for (target, name) in targets.iter_mut().zip(distinct) {
        *target = crc32(name).max(1);
    }
    targets
}

/// The first matches of `:\s*"?([#\w][\w.@-]{2,})`.
fn values_of(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::with_capacity(TARGETS);
    let mut at = 0;
    while at < text.len() && found.len() < TARGETS {
        at += 1;
        if text[at - 1] != b':' {
            continue;
        }
        let mut begin = run(text, at, is_space);
        if text.get(begin) == Some(&b'"') {
            begin += 1;
        }
        if !text
            .get(begin)
            .map_or(false, |byte| is_word_sign(*byte) || *byte == b'#')
        {
            continue;
        }
        let end = run(text, begin + 1, |byte| {
            is_word_sign(byte) || matches!(byte, b'.' | b'@' | b'-')
        });
        if end > begin + 2 {
            found.push(&text[begin..end]);
            at = end;
        }
    }
    found
}

/// Words of file stems, without names of people: `_touched`.
pub fn touched(stems: &[&[u8]], vocabulary: &Vocabulary, into: &mut Vec<u8>) {
    let mut kept: Vec<Word> = Vec::new();
    for stem in stems.iter().filter(|stem| is_stem(stem)) {
        let lower: Vec<u8> = stem.iter().map(u8::to_ascii_lowercase).collect();
        let parts: Vec<Token<'_>> = lower
            .split(|byte| matches!(byte, b'_' | b'-'))
            .filter(|part| !part.is_empty())
            .collect();
        for word in vocabulary.plain_words(&parts, TOUCHED) {
            if !kept.iter().any(|known| known.text() == word.text()) {
                kept.push(word);
            }
        }
    }
    kept.truncate(TOUCHED);
    join(&kept, into);
}

/// `[a-zA-Z][a-zA-Z_-]+` as a whole, not too long.
fn is_stem(stem: &[u8]) -> bool {
    stem.len() >= 2
        && stem.len() <= STEM_CHARS
        && stem[0].is_ascii_alphabetic()
        && stem
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'))
}
