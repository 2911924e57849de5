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
pub fn bag_of(text: &[u8], words: &Words) -> Bag {
    let mut bag = Bag::default();
    let mut word: Vec<u8> = Vec::with_capacity(64);
    for byte in text.iter().chain(&[b' ']) {
        if byte.is_ascii_alphabetic() {
            word.push(byte.to_ascii_lowercase());
        } else {
            if word.len() >= SHORTEST {
                add(&mut bag, &word, words);
            }
            word.clear();
        }
    }
    bag
}

fn add(bag: &mut Bag, word: &[u8], words: &Words) {
    let hash = crc32(word);
    let known = words.find_hashed(word, hash);
    if known.signs & STOP == 0 {
        bag.bits[(hash & 0xFF) as usize / 8] |= 1 << (hash & 7);
    }
    bag.cues |= known.cues;
}
