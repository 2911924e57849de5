//! The native part of whyflame: the dearest steps of storing spans, equal to the Python code byte for byte.
//!
//! Python hands over its word tables once (`prepare`) and gets a handle for them; every function
//! takes what it works on as arguments. Nothing is kept between calls but those tables.

mod bags;
mod crc;
mod python;
mod vocabulary;

use python::{enter, module, Answer, Borrowed, Failure, Method, Owned, Raw};
use vocabulary::{read_words, Vocabulary};

unsafe extern "C" fn prepare(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |[words]: [Borrowed<'_>; 1]| -> Answer<Owned> {
            Owned::capsule(Vocabulary {
                words: read_words(words)?,
            })
        },
    )
}

unsafe extern "C" fn bag_of(_: Raw, arguments: *const Raw, count: isize) -> Raw {
    enter(
        arguments,
        count,
        |[tables, text]: [Borrowed<'_>; 2]| -> Answer<Owned> {
            let vocabulary: &Vocabulary = tables.capsule()?;
            let text = text.text().ok_or(Failure::Unfit("no text\0"))?;
            let bag = bags::bag_of(text, &vocabulary.words);
            Owned::tuple([Owned::bytes(&bag.bits)?, Owned::integer(bag.cues)?])
        },
    )
}

#[no_mangle]
pub extern "C" fn PyInit__native() -> Raw {
    module(
        "whyflame_native._native\0",
        concat!(env!("CARGO_PKG_VERSION"), "\0"),
        vec![
            Method::new("prepare\0", prepare, "prepare(words) -> tables\0"),
            Method::new("bag_of\0", bag_of, "bag_of(tables, text) -> (bag, cues)\0"),
            Method::end(),
        ],
    )
}
