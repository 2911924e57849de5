//! The few plain words of a text that may be kept: `content/words.py`, for texts whose letters are ASCII.

use crate::vocabulary::{
    Known, Vocabulary, ADDRESSED, BEFORE_PEOPLE, GIVEN, INTRODUCES, INTRODUCTION, MODAL, PLEA,
    PRODUCT, STOP, TITLE,
};

const WORD_LIMIT: usize = 20;
const MEMO_CHARS: usize = 40; // longer tokens are not remembered in Python, which makes them no words
const PLEA_WITHIN: usize = 40;

pub type Token<'a> = &'a [u8];

/// A kept word, at most as long as one may be.
#[derive(Clone, Copy)]
pub struct Word {
    letters: [u8; WORD_LIMIT],
    size: u8,
    pub lead: u32,
}

impl Word {
    pub fn text(&self) -> &[u8] {
        &self.letters[..usize::from(self.size)]
    }
}

/// How a token looks; without letters only what it does to its neighbours.
struct Look {
    word: Word,
    known: Known,
    capital: bool,
    introduces: bool,
    ends: bool,
}

impl Look {
    fn is_silent(&self) -> bool {
        self.word.size == 0
    }

    fn is_title(&self) -> bool {
        self.known.signs & TITLE != 0
    }

    fn is_named(&self) -> bool {
        self.known.signs & (TITLE | GIVEN) != 0
    }

    fn is_kept(&self) -> bool {
        self.known.signs & STOP == 0 && self.word.size > 1
    }
}

pub fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

pub fn is_word_sign(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub fn split(text: &[u8]) -> impl Iterator<Item = Token<'_>> {
    text.split(|byte| is_space(*byte))
        .filter(|token| !token.is_empty())
}

fn characters(token: Token<'_>) -> usize {
    token.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn ends_sentence(token: Token<'_>) -> bool {
    matches!(token.last(), Some(b'.' | b':' | b'!' | b'?'))
}

fn is_plain(word: &[u8]) -> bool {
    !word.is_empty() && word.len() <= WORD_LIMIT && word.iter().all(u8::is_ascii_alphabetic)
}

/// Between quotes of one kind, with punctuation behind: `_QUOTED`.
fn is_quoted(token: Token<'_>) -> bool {
    let quote = match token.first() {
        Some(quote @ (b'"' | b'\'' | b'`')) => *quote,
        _ => return false,
    };
    let last = token.iter().rposition(|byte| *byte == quote).unwrap_or(0);
    last >= 2
        && token[last + 1..]
            .iter()
            .all(|byte| matches!(byte, b'.' | b',' | b':' | b';' | b'!' | b'?' | b')'))
}

/// `_IDENTIFIER`: DirFileSystem.
fn is_identifier(word: &[u8]) -> bool {
    if !word.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    // A capital may stand first; two more at least, each with small letters around it.
    let rest = if word.first().map_or(false, u8::is_ascii_uppercase) {
        &word[1..]
    } else {
        word
    };
    let mut humps = 0;
    let mut small_before = false;
    for byte in rest {
        if byte.is_ascii_lowercase() {
            small_before = true;
        } else if small_before {
            humps += 1;
            small_before = false;
        } else {
            return false;
        }
    }
    small_before && humps >= 2
}

impl Vocabulary {
    /// `token.lower().strip(_EDGES)` looked up; words that no table has are all alike.
    fn find_stripped(&self, token: Token<'_>) -> Known {
        let word = self.edges.strip(token);
        let mut lower = [0; 32];
        match lower.get_mut(..word.len()) {
            Some(place) => {
                place.copy_from_slice(word);
                place.make_ascii_lowercase();
                self.words.find(place)
            }
            None => Known::default(),
        }
    }

    fn look_at(&self, token: Token<'_>) -> Option<Look> {
        let ends = ends_sentence(token);
        let mut word = self.edges.strip(token);
        if is_quoted(token) || is_identifier(word) {
            return None;
        }
        let joined;
        if !is_plain(word) {
            joined = without_joints(word);
            if !is_plain(&joined) || !token.contains(&b'-') {
                let introduces = self.find_lower(token).signs & INTRODUCES != 0;
                return if ends || introduces {
                    Some(silent(introduces, ends))
                } else {
                    None
                };
            }
            word = &joined;
        }
        let mut made = silent(false, ends);
        made.word.size = word.len() as u8;
        let letters = &mut made.word.letters[..word.len()];
        letters.copy_from_slice(word);
        letters.make_ascii_lowercase();
        made.known = self.words.find(letters);
        made.word.lead = made.known.lead;
        made.capital = word[0].is_ascii_uppercase() && !word.iter().all(u8::is_ascii_uppercase);
        Some(made)
    }

    fn find_lower(&self, token: Token<'_>) -> Known {
        let mut lower = [0; 8];
        match lower.get_mut(..token.len()) {
            Some(place) => {
                place.copy_from_slice(token);
                place.make_ascii_lowercase();
                self.words.find(place)
            }
            None => Known::default(),
        }
    }

    /// `known_words`: where no word but the first has a capital, nothing can be part of a name.
    pub fn known_words(&self, tokens: &[Token<'_>], limit: usize) -> Vec<Word> {
        let few = tokens.len().min(2 * limit);
        let mut kept = Kept::default();
        for (at, token) in tokens.iter().enumerate() {
            if at == few && kept.distinct() > limit {
                break;
            }
            self.note_simple(token, at == 0, &mut kept);
        }
        if kept.has_names {
            return self.plain_words(tokens, limit);
        }
        kept.words.truncate(limit);
        kept.words
    }

    fn note_simple(&self, token: Token<'_>, is_first: bool, kept: &mut Kept) {
        if characters(token) > MEMO_CHARS || token.iter().any(u8::is_ascii_digit) {
            kept.has_nothing = true;
            return;
        }
        match self.look_at(token) {
            Some(look) if !look.is_silent() => {
                if look.is_named() || (look.capital && !is_first) {
                    kept.has_names = true;
                } else if look.is_kept() {
                    kept.add(look.word);
                } else {
                    kept.has_nothing = true;
                }
            }
            _ => kept.has_nothing = true,
        }
    }

    /// `plain_words`: plain letters, no stop words, nothing like a name of a person.
    pub fn plain_words(&self, tokens: &[Token<'_>], limit: usize) -> Vec<Word> {
        let mut kept = Kept::default();
        let (mut begins, mut person) = (true, false);
        let mut before: Option<Word> = None;
        let (mut capital_before, mut comma_before) = (false, false);
        for token in tokens {
            let called = comma_before;
            comma_before = token.last() == Some(&b',');
            let look = match self.look_at(token) {
                Some(look) if !look.is_silent() => look,
                other => {
                    begins = other.as_ref().map_or(false, |look| look.ends);
                    person = other.map_or(false, |look| look.introduces);
                    capital_before = false;
                    before = None;
                    continue;
                }
            };
            let mut capital = look.capital && !begins && look.known.signs & PRODUCT == 0;
            if look.is_named() {
                person = true;
                capital = false;
            } else if capital && (person || capital_before || (called && look.ends)) {
                person = true;
                // Two capital words in a row: a name of two parts.
                if capital_before && is_same(kept.words.last(), before.as_ref()) {
                    kept.words.pop();
                }
            } else {
                person = look.known.signs & BEFORE_PEOPLE != 0
                    || self.is_introduction(before.as_ref(), &look.word);
                if look.is_kept() && kept.add(look.word) && kept.words.len() == limit {
                    break;
                }
            }
            begins = look.ends && !look.is_title();
            capital_before = capital;
            before = Some(look.word);
        }
        kept.words
    }

    /// "name is": pairs stand in the table with a space between.
    fn is_introduction(&self, before: Option<&Word>, word: &Word) -> bool {
        match before {
            Some(before) => {
                let mut pair = [0; 2 * WORD_LIMIT + 1];
                let (first, second) = (before.text(), word.text());
                let size = first.len() + 1 + second.len();
                pair[..first.len()].copy_from_slice(first);
                pair[first.len()] = b' ';
                pair[first.len() + 1..size].copy_from_slice(second);
                self.words.find(&pair[..size]).signs & INTRODUCTION != 0
            }
            None => false,
        }
    }

    /// `clause_words`: of the clause that says what comes next, else of the beginning.
    pub fn clause_words(&self, tokens: &[Token<'_>], limit: usize) -> Vec<Word> {
        let tokens = &tokens[..tokens.len().min(40)];
        let begin = tokens
            .iter()
            .take(32)
            .enumerate()
            .find_map(|(at, token)| match self.openers.find(token).lead {
                0 => None,
                skip => Some(at + skip as usize),
            })
            .unwrap_or(0)
            .min(tokens.len());
        let found = self.known_words(&tokens[begin..tokens.len().min(begin + 16)], limit);
        if found.is_empty() {
            return self.known_words(&tokens[..tokens.len().min(16)], limit);
        }
        found
    }

    /// `_prompt_words`: of what is asked for first, what stands before it behind.
    pub fn prompt_words(&self, tokens: &[Token<'_>], before_verb: u32, limit: usize) -> Vec<Word> {
        let tokens = &tokens[..tokens.len().min(64)];
        let mut begin = self.plea_at(tokens);
        if begin == 0 {
            begin = self.verb_sentence_at(tokens, before_verb);
        }
        let mut turned: Vec<Token<'_>> = Vec::with_capacity(tokens.len() + 1);
        turned.extend_from_slice(&tokens[begin..]);
        turned.push(b".");
        turned.extend_from_slice(&tokens[..begin]);
        self.known_words(&turned, limit)
    }

    fn plea_at(&self, tokens: &[Token<'_>]) -> usize {
        let mut before = 0;
        for (at, token) in tokens.iter().take(PLEA_WITHIN).enumerate() {
            let signs = self.find_stripped(token).signs;
            if signs & PLEA != 0 || (before & MODAL != 0 && signs & ADDRESSED != 0) {
                if ends_sentence(token) || at + 1 == tokens.len() {
                    return sentence_at(tokens, at);
                }
                return at + 1;
            }
            before = signs;
        }
        0
    }

    fn verb_sentence_at(&self, tokens: &[Token<'_>], limit: u32) -> usize {
        let (mut sentence, mut telling) = (0, 0);
        for (at, token) in tokens.iter().enumerate() {
            let known = self.find_stripped(token);
            if known.lead != 0 {
                return sentence;
            }
            telling += u32::from(known.signs & STOP == 0);
            if telling > limit {
                break;
            }
            if ends_sentence(token) {
                sentence = at + 1;
            }
        }
        0
    }
}

#[derive(Default)]
struct Kept {
    words: Vec<Word>,
    has_nothing: bool,
    has_names: bool,
}

impl Kept {
    fn distinct(&self) -> usize {
        self.words.len() + usize::from(self.has_nothing) + usize::from(self.has_names)
    }

    /// False when it is there already.
    fn add(&mut self, word: Word) -> bool {
        let is_new = !self.words.iter().any(|known| known.text() == word.text());
        if is_new {
            self.words.push(word);
        }
        is_new
    }
}

fn is_same(one: Option<&Word>, other: Option<&Word>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one.text() == other.text())
}

fn silent(introduces: bool, ends: bool) -> Look {
    Look {
        word: Word {
            letters: [0; WORD_LIMIT],
            size: 0,
            lead: 0,
        },
        known: Known::default(),
        capital: false,
        introduces,
        ends,
    }
}

/// `word.replace("-", "").replace("'s", "")`
fn without_joints(word: &[u8]) -> Vec<u8> {
    let mut joined: Vec<u8> = word.iter().copied().filter(|byte| *byte != b'-').collect();
    if joined.contains(&b'\'') {
        let mut plain = Vec::with_capacity(joined.len());
        let mut at = 0;
        while at < joined.len() {
            if joined[at..].starts_with(b"'s") {
                at += 2;
            } else {
                plain.push(joined[at]);
                at += 1;
            }
        }
        joined = plain;
    }
    joined
}

fn sentence_at(tokens: &[Token<'_>], mut position: usize) -> usize {
    while position > 0 && !ends_sentence(tokens[position - 1]) {
        position -= 1;
    }
    position
}

/// Words with spaces between.
pub fn join(words: &[Word], into: &mut Vec<u8>) {
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            into.push(b' ');
        }
        into.extend_from_slice(word.text());
    }
}

/// `lead_of`: class of the first verb.
pub fn lead_of(words: &[Word]) -> u32 {
    words
        .iter()
        .map(|word| word.lead)
        .find(|lead| *lead != 0)
        .unwrap_or(0)
}
