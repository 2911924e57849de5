//! The fixed record of `content/features.py` (`RECORD`) and the words behind it.

use crate::bags::Bag;

const VERSION: u8 = 1;
const FIELD: u8 = 0x1F;
pub const HAS_PROMPT: u8 = 1;
pub const HAS_RESPONSE: u8 = 2;
pub const HAS_ARGUMENTS: u8 = 4;
pub const HAS_RESULT: u8 = 8;

/// What was found in something said.
#[derive(Default)]
pub struct Said {
    pub bag: Bag,
    pub lead: u32,
    pub words: Vec<u8>,
}

/// What was found in a tool call.
#[derive(Default)]
pub struct Call {
    pub bag: Bag,
    pub targets: [u32; 4],
    pub did: Vec<u8>,
    pub touched: Vec<u8>,
}

/// All of one span.
#[derive(Default)]
pub struct Found {
    pub flags: u8,
    pub activity: u8,
    pub sizes: [u8; 4],
    pub user_messages: u8,
    pub said: Option<Said>,
    pub asked: Option<Said>,
    pub result_cues: u32,
    pub call: Call,
}

impl Found {
    pub fn pack(&self, into: &mut Vec<u8>) {
        let nothing = Said::default();
        let spoken = self
            .said
            .as_ref()
            .or(self.asked.as_ref())
            .unwrap_or(&nothing);
        into.clear();
        into.extend_from_slice(&[VERSION, self.flags, self.activity, spoken.lead as u8]);
        let asked_cues = self.asked.as_ref().map_or(0, |asked| asked.bag.cues);
        for cues in [spoken.bag.cues, self.result_cues, asked_cues] {
            into.extend_from_slice(&cues.to_le_bytes());
        }
        into.extend_from_slice(&self.sizes);
        into.extend_from_slice(&[self.user_messages, 0, 0, 0]);
        for target in self.call.targets {
            into.extend_from_slice(&target.to_le_bytes());
        }
        into.extend_from_slice(&spoken.bag.bits);
        into.extend_from_slice(&self.call.bag.bits);
        for words in [
            words_of(&self.said),
            words_of(&self.asked),
            &self.call.did,
            &self.call.touched,
        ] {
            into.extend_from_slice(words);
            into.push(FIELD);
        }
    }
}

fn words_of(said: &Option<Said>) -> &[u8] {
    said.as_ref().map_or(b"", |said| &said.words)
}
