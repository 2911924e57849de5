//! The native part of whyflame: the dearest steps of storing spans, equal to the Python code byte for byte.
//!
//! Python hands over its word tables once (`prepare`) and gets a handle for them; every function
//! takes what it works on as arguments. Nothing is kept between calls but those tables.

mod arguments;
mod bags;
mod crc;
mod features;
mod messages;
mod prompts;
mod python;
mod record;
mod vocabulary;
mod words;

use features::Extractor;
use python::{enter, module, Answer, Borrowed, Failure, Method, Owned, Raw};
use vocabulary::{read_signs, read_words, Vocabulary, SIGNS};

unsafe extern "C" fn prepare(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |given: [Borrowed<'_>; 6]| -> Answer<Owned> {
            let [words, openers, edges, shell, activity_of_tool, activity_of_call] = given;
            let vocabulary = Vocabulary {
                words: read_words(words)?,
                openers: read_words(openers)?,
                edges: read_signs(edges.text().ok_or(Failure::Unfit("edges are no text\0"))?),
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

#[no_mangle]
pub extern "C" fn PyInit__native() -> Raw {
    module(
        "whyflame_native._native\0",
        &[
            ("VERSION\0", concat!(env!("CARGO_PKG_VERSION"), "\0")),
            ("SIGNS\0", SIGNS),
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
                "single_speech\0",
                single_speech,
                "Role, beginning and UTF-8 of a single message.\0",
            ),
            Method::end(),
        ],
    )
}
