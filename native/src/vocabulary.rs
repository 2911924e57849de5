//! Word tables of whyflame's `vocabulary.py`, handed over once: a word's bits in one look-up.

use crate::crc::crc32;
use crate::python::{Answer, Borrowed, Failure};

pub const STOP: u32 = 1;
pub const GIVEN: u32 = 2;
pub const TITLE: u32 = 4;
pub const PRODUCT: u32 = 8;
pub const BEFORE_PEOPLE: u32 = 16;
pub const PLEA: u32 = 32;
pub const MODAL: u32 = 64;
pub const INTRODUCES: u32 = 128;
pub const INTRODUCTION: u32 = 256;
pub const ADDRESSED: u32 = 512;

/// Names of the signs, in the order of their bits: Python asks for them by name.
pub const SIGNS: &str =
    "STOP GIVEN TITLE PRODUCT BEFORE_PEOPLE PLEA MODAL INTRODUCES INTRODUCTION ADDRESSED\0";

/// What is known about a lower-case word.
#[derive(Clone, Copy, Default)]
pub struct Known {
    pub signs: u32,
    pub lead: u32,
    pub cues: u32,
}

const MOST_LETTERS: usize = 24;

#[derive(Clone, Copy)]
struct Entry {
    word: [u8; MOST_LETTERS],
    size: u8,
    known: Known,
}

/// Open addressing by CRC-32, which bags need anyway; never fuller than a half.
///
/// Most words are unknown: their look-ups end in `hashes`, which stays in the processor's caches.
pub struct Words {
    hashes: Vec<u32>,
    entries: Vec<Entry>,
}

impl Words {
    pub fn find(&self, word: &[u8]) -> Known {
        self.find_hashed(word, crc32(word))
    }

    pub fn find_hashed(&self, word: &[u8], hash: u32) -> Known {
        let mask = self.hashes.len() - 1;
        let mut at = hash as usize & mask;
        while self.hashes[at] != EMPTY {
            let entry = &self.entries[at];
            if self.hashes[at] == hash && entry.word[..usize::from(entry.size)] == *word {
                return entry.known;
            }
            at = (at + 1) & mask;
        }
        Known::default()
    }

    fn with(found: Vec<(u32, Entry)>) -> Words {
        let size = (found.len().max(1) * 2).next_power_of_two();
        let nothing = Entry {
            word: [0; MOST_LETTERS],
            size: 0,
            known: Known::default(),
        };
        let mut made = Words {
            hashes: vec![EMPTY; size],
            entries: vec![nothing; size],
        };
        for (hash, entry) in found {
            let mut at = hash as usize & (size - 1);
            while made.hashes[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            made.hashes[at] = hash;
            made.entries[at] = entry;
        }
        made
    }
}

/// Marks a free place: CRC-32 of nothing, which is no word.
const EMPTY: u32 = 0;

/// All tables: of lower-case words, of tokens that open a clause (`lead` says how far), of edges.
pub struct Vocabulary {
    pub words: Words,
    pub openers: Words,
    pub edges: Edges,
}

/// Signs that are stripped off words; those beyond ASCII as UTF-8.
pub struct Edges {
    plain: [bool; 128],
    others: Vec<Box<[u8]>>,
}

impl Edges {
    pub fn read(text: &[u8]) -> Answer<Edges> {
        let text = std::str::from_utf8(text).map_err(|_| Failure::Unfit("edges are no text\0"))?;
        let mut made = Edges {
            plain: [false; 128],
            others: Vec::new(),
        };
        for sign in text.chars() {
            match made.plain.get_mut(sign as usize) {
                Some(place) => *place = true,
                None => made.others.push(sign.to_string().as_bytes().into()),
            }
        }
        Ok(made)
    }

    pub fn strip<'a>(&self, mut token: &'a [u8]) -> &'a [u8] {
        while let Some(size) = self.size(token.first(), |edge| token.starts_with(edge)) {
            token = &token[size..];
        }
        while let Some(size) = self.size(token.last(), |edge| token.ends_with(edge)) {
            token = &token[..token.len() - size];
        }
        token
    }

    /// Bytes of the edge at one end of a token, which begins or ends with `byte`.
    fn size(&self, byte: Option<&u8>, is_there: impl Fn(&[u8]) -> bool) -> Option<usize> {
        match self.plain.get(usize::from(*byte?)) {
            Some(is_edge) => is_edge.then(|| 1),
            None => self
                .others
                .iter()
                .find(|edge| is_there(edge))
                .map(|edge| edge.len()),
        }
    }
}

/// Signs beyond ASCII that are no letters, digits or spaces, in any version of Unicode.
const NEUTRAL: [(char, char); 7] = [
    ('\u{2010}', '\u{2027}'), // dashes, quotes, bullets, ellipsis
    ('\u{2030}', '\u{205E}'),
    ('\u{2190}', '\u{23FF}'), // arrows, mathematics
    ('\u{2500}', '\u{2775}'), // boxes, symbols
    ('\u{2794}', '\u{27BF}'),
    ('\u{1F300}', '\u{1F64F}'), // pictures
    ('\u{1F680}', '\u{1F6FF}'),
];

pub fn is_neutral(sign: char) -> bool {
    NEUTRAL
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&sign))
}

/// Entries of a list of tuples (word, signs, lead, cues).
pub fn read_words(table: Borrowed<'_>) -> Answer<Words> {
    let mut entries = Vec::new();
    for at in 0..table.list_size()? {
        let row = table.list_item(at)?;
        let word = row
            .get()
            .tuple_item(0)?
            .text()
            .ok_or(Failure::Unfit("a word is no text\0"))?;
        let mut numbers = [0; 3];
        for (place, number) in numbers.iter_mut().enumerate() {
            *number = row
                .get()
                .tuple_item(place + 1)?
                .integer()
                .and_then(|value| u32::try_from(value).ok())
                .ok_or(Failure::Unfit("bits of a word are no 32-bit integer\0"))?;
        }
        let [signs, lead, cues] = numbers;
        entries.push((crc32(word), entry_of(word, Known { signs, lead, cues })?));
    }
    Ok(Words::with(entries))
}

fn entry_of(word: &[u8], known: Known) -> Answer<Entry> {
    let mut letters = [0; MOST_LETTERS];
    match letters.get_mut(..word.len()) {
        // A hash of 0 would look like a free place; no word of the tables has it.
        Some(place) if crc32(word) != EMPTY => place.copy_from_slice(word),
        _ => return Err(Failure::Unfit("a word that no table holds\0")),
    }
    Ok(Entry {
        word: letters,
        size: word.len() as u8,
        known,
    })
}
