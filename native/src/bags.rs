//! Hashed bags of words with cue bits.

use crate::crc::crc32;
use crate::vocabulary::{Words, STOP};

pub const BAG_BYTES: usize = 32;
const SHORTEST: usize = 3;

/// Words of a text as bits, and its cue bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Bag {
    pub bits: [u8; BAG_BYTES],
    pub cues: u32,
}

/// The bag of a text: of its runs of plain letters of three and more.
///
/// Args: room for the text in small letters, with signs for everything else.
pub fn bag_of(text: &[u8], words: &Words, room: &mut Vec<u8>) -> Bag {
    let mut bag = Bag::default();
    room.clear();
    room.extend(text.iter().map(|byte| byte | 0x20));
    // What only looks like a letter now is none: "@" to "`", "[" to "{".
    for (small, byte) in room.iter_mut().zip(text) {
        *small = if byte.is_ascii_alphabetic() {
            *small
        } else {
            0
        };
    }
    let mut begin = 0;
    while let Some(size) = room[begin..].iter().position(|byte| *byte == 0) {
        add(&mut bag, &room[begin..begin + size], words);
        begin += size + 1;
    }
    add(&mut bag, &room[begin..], words);
    bag
}

fn add(bag: &mut Bag, word: &[u8], words: &Words) {
    if word.len() < SHORTEST {
        return;
    }
    let hash = crc32(word);
    let known = words.find_hashed(word, hash);
    if known.signs & STOP == 0 {
        bag.bits[(hash & 0xFF) as usize / 8] |= 1 << (hash & 7);
    }
    bag.cues |= known.cues;
}
