//! Is a body the request that it claims to be? One walk over the wire format, nothing is kept.
//!
//! What is accepted here the protobuf library accepts too, with as many items. Whatever is unusual
//! (groups, long varints, fields of another wire type, deep nesting) or wrong is left to it.

const WIDTH: usize = 32;
const DEEPEST: u32 = 64;
const MOST_TAG_BYTES: u32 = 2;
const MOST_SIZE_BYTES: u32 = 4;
const MOST_VARINT_BYTES: u32 = 10;

/// What stands in a field, by its place in a row of the table.
const UNKNOWN: u8 = 0;
const VARINT: u8 = 1;
const FIXED64: u8 = 2;
const FIXED32: u8 = 3;
const BYTES: u8 = 4;
const TEXT: u8 = 5;
const MESSAGES: u8 = 8;

/// Messages and their fields; the first is the request.
pub struct Schema {
    rows: Vec<[u8; WIDTH]>,
    item: usize,
    time: usize,
}

impl Schema {
    /// A schema of rows of 32 bytes a message; None when a field names a message that is not there.
    ///
    /// `item` is the number of the message that is counted, `time` its field that is looked at.
    pub fn new(table: &[u8], item: usize, time: usize) -> Option<Schema> {
        let mut rows = Vec::new();
        for part in table.chunks(WIDTH) {
            let mut row = [UNKNOWN; WIDTH];
            if part.len() != WIDTH {
                return None;
            }
            row.copy_from_slice(part);
            rows.push(row);
        }
        let is_there = |kind: &u8| *kind < MESSAGES || usize::from(*kind - MESSAGES) < rows.len();
        let is_whole = !rows.is_empty() && rows.iter().all(|row| row.iter().all(is_there));
        if is_whole {
            Some(Schema { rows, item, time })
        } else {
            None
        }
    }
}

/// What was found in a request.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Found {
    pub items: usize,
    /// The time of the first item of a message lies outside of what can be.
    pub is_time_wrong: bool,
}

/// Walk over a request; None when the protobuf library must judge it.
pub fn look(schema: &Schema, body: &[u8], earliest: u64, latest: u64) -> Option<Found> {
    let mut walk = Walk {
        schema,
        earliest,
        latest,
        found: Found::default(),
    };
    walk.message(0, body, DEEPEST)?;
    Some(walk.found)
}

struct Walk<'a> {
    schema: &'a Schema,
    earliest: u64,
    latest: u64,
    found: Found,
}

impl Walk<'_> {
    /// Returns the value of the field `time`, which is 0 where there is none.
    fn message(&mut self, number: usize, body: &[u8], room: u32) -> Option<u64> {
        let row = &self.schema.rows[number];
        let (mut rest, mut time, mut has_items) = (body, 0, false);
        while !rest.is_empty() {
            let tag = varint(&mut rest, MOST_TAG_BYTES)? as usize;
            let (field, wire) = (tag >> 3, tag & 7);
            let kind = match field {
                0 => return None,
                1..=31 => row[field],
                _ => UNKNOWN,
            };
            match (wire, kind) {
                (0, UNKNOWN) | (0, VARINT) => {
                    varint(&mut rest, MOST_VARINT_BYTES)?;
                }
                (1, UNKNOWN) | (1, FIXED64) => {
                    let value = taken(&mut rest, 8)?;
                    if number == self.schema.item && field == self.schema.time {
                        time = u64::from_le_bytes([
                            value[0], value[1], value[2], value[3], value[4], value[5], value[6],
                            value[7],
                        ]);
                    }
                }
                (5, UNKNOWN) | (5, FIXED32) => {
                    taken(&mut rest, 4)?;
                }
                (2, _) => {
                    let size = varint(&mut rest, MOST_SIZE_BYTES)? as usize;
                    let content = taken(&mut rest, size)?;
                    match kind {
                        UNKNOWN | BYTES => {}
                        TEXT if is_text(content) => {}
                        MESSAGES..=u8::MAX => {
                            let inner = usize::from(kind - MESSAGES);
                            let begins = self.message(inner, content, room.checked_sub(1)?)?;
                            if inner == self.schema.item {
                                self.count(begins, !has_items);
                                has_items = true;
                            }
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(time)
    }

    fn count(&mut self, begins: u64, is_first: bool) {
        self.found.items += 1;
        let is_known = is_first && begins != 0;
        self.found.is_time_wrong |= is_known && !(self.earliest..=self.latest).contains(&begins);
    }
}

/// A number of at most so many bytes; longer ones are left to the library.
#[inline(always)]
fn varint(rest: &mut &[u8], most: u32) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    while shift < most * 7 {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(first & 0x7F) << shift;
        if *first < 0x80 {
            let is_long = shift == 63 && *first > 1;
            return if is_long { None } else { Some(value) };
        }
        shift += 7;
    }
    None
}

#[inline(always)]
fn taken<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    if size > rest.len() {
        return None;
    }
    let (content, behind) = rest.split_at(size);
    *rest = behind;
    Some(content)
}

/// UTF-8; most texts are plain, which is seen 32 bytes at a time.
fn is_text(content: &[u8]) -> bool {
    let mut chunks = content.chunks_exact(32);
    let is_plain = chunks.all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) < 0x80);
    is_plain && chunks.remainder().iter().all(u8::is_ascii) || std::str::from_utf8(content).is_ok()
}
