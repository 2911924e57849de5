//! The native part of whyflame: the dearest steps of storing spans, equal to the Python code byte for byte.
//!
//! Python hands over its word tables once (`prepare`) and gets a handle for them; every function
//! takes what it works on as arguments. Nothing is kept between calls but those tables.

mod arguments;
mod bags;
mod beside;
mod buffer;
mod checksum;
mod conversation;
mod crc;
mod features;
mod json;
mod messages;
mod module;
mod otlp;
mod prompts;
mod python;
mod record;
mod vocabulary;
mod words;

use std::ffi::CStr;

use beside::Job;
use buffer::Buffer;
use features::Extractor;
use module::{enter, module, Method};
use python::{Answer, Borrowed, Capsule, Failure, Owned, Raw};
use vocabulary::{read_words, Edges, Vocabulary, SIGNS};

unsafe extern "C" fn prepare(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |given: [Borrowed<'_>; 6]| -> Answer<Owned> {
            let [words, openers, edges, shell, activity_of_tool, activity_of_call] = given;
            let vocabulary = Vocabulary {
                words: read_words(words)?,
                openers: read_words(openers)?,
                edges: Edges::read(edges.text().ok_or(Failure::Unfit("edges are no text\0"))?)?,
            };
            let shell = shell.integer().and_then(|code| u8::try_from(code).ok());
            Owned::capsule(Extractor::new(
                vocabulary,
                shell.ok_or(Failure::Unfit("the code of a shell is no byte\0"))?,
                activity_of_tool.keep(),
                activity_of_call.keep(),
            )?)
        },
    )
}

unsafe extern "C" fn extract(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |[extractor, spans, modes]: [Borrowed<'_>; 3]| -> Answer<Owned> {
            extractor.capsule::<Extractor>()?.extract(spans, modes)
        },
    )
}

unsafe extern "C" fn single_speech(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |[raw, limit]: [Borrowed<'_>; 2]| -> Answer<Owned> { messages::single_speech(raw, limit) },
    )
}

unsafe extern "C" fn newest_user(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |given: [Borrowed<'_>; 5]| -> Answer<Owned> {
            let [raw, limit, users, others, results] = given;
            messages::newest_user(raw, limit, users, others, results)
        },
    )
}

/// Texts shorter than this are done sooner than other threads are woken.
const WORTH_UNLOCKING: usize = 1 << 14;

impl Capsule for otlp::Schema {
    const NAME: &'static CStr =
        unsafe { CStr::from_bytes_with_nul_unchecked(b"whyflame_native.Schema\0") };
}

unsafe extern "C" fn request_schema(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |[table, item, time]: [Borrowed<'_>; 3]| -> Answer<Owned> {
            let number =
                |given: Borrowed<'_>| given.integer().and_then(|n| usize::try_from(n).ok());
            match (number(item), number(time)) {
                (Some(item), Some(time)) => otlp::Schema::new(table.bytes()?, item, time)
                    .ok_or(Failure::Unfit("no schema\0"))
                    .and_then(Owned::capsule),
                _ => Err(Failure::Unfit("no number\0")),
            }
        },
    )
}

struct Look<'a> {
    schema: &'a otlp::Schema,
    body: &'a [u8],
    earliest: u64,
    latest: u64,
    found: Option<otlp::Found>,
}

impl<'a> Job<'a, 4> for Look<'a> {
    fn begin([schema, body, earliest, latest]: [Borrowed<'a>; 4]) -> Answer<Self> {
        let time = |given: Borrowed<'_>| given.integer().and_then(|n| u64::try_from(n).ok());
        match (time(earliest), time(latest)) {
            (Some(earliest), Some(latest)) => Ok(Look {
                schema: schema.capsule()?,
                body: body.bytes()?,
                earliest,
                latest,
                found: None,
            }),
            _ => Err(Failure::Unfit("no time\0")),
        }
    }

    fn is_long(&self) -> bool {
        self.body.len() >= WORTH_UNLOCKING
    }

    fn work(&mut self) {
        self.found = otlp::look(self.schema, self.body, self.earliest, self.latest);
    }

    fn end(self) -> Answer<Owned> {
        match self.found {
            None => Ok(Owned::none()),
            Some(found) => Owned::tuple([
                Owned::integer(found.items)?,
                Owned::integer(usize::from(found.is_time_wrong))?,
            ]),
        }
    }
}

struct Checksum<'a> {
    buffer: Buffer<'a>,
    before: u32,
    found: Option<u32>,
}

impl<'a> Job<'a, 2> for Checksum<'a> {
    fn begin([text, before]: [Borrowed<'a>; 2]) -> Answer<Self> {
        let before = before.integer().and_then(|value| u32::try_from(value).ok());
        Ok(Checksum {
            before: before.ok_or(Failure::Unfit("no checksum\0"))?,
            buffer: text.buffer()?,
            found: None,
        })
    }

    fn is_long(&self) -> bool {
        self.buffer.content().len() >= WORTH_UNLOCKING
    }

    fn work(&mut self) {
        self.found = checksum::checksum(self.buffer.content(), self.before);
    }

    fn end(self) -> Answer<Owned> {
        self.found
            .ok_or(Failure::Unfit("not on this processor\0"))
            .and_then(|found| Owned::integer(found as usize))
    }
}

#[no_mangle]
pub extern "C" fn PyInit__native() -> Raw {
    module(
        "whyflame_native._native\0",
        &[
            ("VERSION\0", concat!(env!("CARGO_PKG_VERSION"), "\0")),
            ("SIGNS\0", SIGNS),
            (
                "CHECKSUM\0",
                if checksum::is_fast() { "clmul\0" } else { "\0" },
            ),
        ],
        vec![
            Method::new(
                "prepare\0",
                prepare,
                "Word tables and what is asked about tools; a handle.\0",
            ),
            Method::new(
                "extract\0",
                extract,
                "Features of many spans, and which are left.\0",
            ),
            Method::new(
                "newest_user\0",
                newest_user,
                "Beginning, UTF-8 and number of the newest user message of an input.\0",
            ),
            Method::new(
                "single_speech\0",
                single_speech,
                "Role, beginning and UTF-8 of a single message.\0",
            ),
            Method::new(
                "request_schema\0",
                request_schema,
                "Messages and fields that a request may have; a handle.\0",
            ),
            Method::new(
                "look_at_request\0",
                beside::call::<Look<'_>, 4>,
                "Items of a request, and whether a time is wrong; None: parse it.\0",
            ),
            Method::new(
                "crc32\0",
                beside::call::<Checksum<'_>, 2>,
                "As zlib's, faster.\0",
            ),
            Method::end(),
        ],
    )
}
