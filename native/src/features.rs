//! Features of many spans: what `extract_all` of `content/features.py` does for plain texts.
//!
//! Plans, other modes than "features" and texts with letters beyond ASCII are left to Python, span by span.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;

use crate::arguments::{stems_of, targets_of, touched};
use crate::bags::bag_of;
use crate::prompts::without_keys;
use crate::python::{string, Answer, Borrowed, Capsule, Failure, Owned};
use crate::record::{Call, Found, Said, HAS_ARGUMENTS, HAS_PROMPT, HAS_RESPONSE, HAS_RESULT};
use crate::vocabulary::{is_neutral, Vocabulary};
use crate::words::{is_space, join, lead_of, split, Token};

const PROMPT_CHARS: usize = 400;
const TEXT_CHARS: usize = 200;
const SAID_WORDS: usize = 7;
const ASKED_WORDS: usize = 14;
const BEFORE_VERB: u32 = 6;
const TOOLS: usize = 4096;

/// Why Python has to do a span: the native part does not, or something was raised.
enum Left {
    ToPython,
    Raised(Failure),
}

impl From<Failure> for Left {
    fn from(failure: Failure) -> Left {
        Left::Raised(failure)
    }
}

type Result<T> = std::result::Result<T, Left>;

/// Tables, names of attributes, and the Python code that is asked about tools.
pub struct Extractor {
    pub vocabulary: Vocabulary,
    shell: u8,
    activity_of_tool: Owned,
    activity_of_call: Owned,
    tools: RefCell<HashMap<Box<[u8]>, u8>>,
    names: Names,
    room: RefCell<Vec<u8>>,
}

impl Capsule for Extractor {
    const NAME: &'static CStr =
        unsafe { CStr::from_bytes_with_nul_unchecked(b"whyflame.extractor\0") };
}

struct Names {
    content: Owned,
    tool: Owned,
    plan: Owned,
    user_messages: Owned,
    texts: [(Owned, Owned); 4],
}

fn name(text: &'static [u8]) -> Answer<Owned> {
    Owned::interned(CStr::from_bytes_with_nul(text).map_err(|_| Failure::Unfit("a name\0"))?)
}

impl Names {
    fn new() -> Answer<Names> {
        Ok(Names {
            content: name(b"content\0")?,
            tool: name(b"tool\0")?,
            plan: name(b"plan\0")?,
            user_messages: name(b"user_messages\0")?,
            texts: [
                (name(b"prompt\0")?, name(b"prompt_bytes\0")?),
                (name(b"response\0")?, name(b"response_bytes\0")?),
                (name(b"arguments\0")?, name(b"arguments_bytes\0")?),
                (name(b"result\0")?, name(b"result_bytes\0")?),
            ],
        })
    }
}

impl Extractor {
    /// Args: activity code of a shell; activity of (tool); (activity, words) of (tool, arguments).
    pub fn new(
        vocabulary: Vocabulary,
        shell: u8,
        activity_of_tool: Owned,
        activity_of_call: Owned,
    ) -> Answer<Extractor> {
        let tools = RefCell::new(HashMap::new());
        let names = Names::new()?;
        let room = RefCell::default();
        Ok(Extractor {
            vocabulary,
            shell,
            activity_of_tool,
            activity_of_call,
            tools,
            names,
            room,
        })
    }

    /// (features or None of each span, positions of those that Python has to do).
    pub fn extract(&self, spans: Borrowed<'_>, modes: Borrowed<'_>) -> Answer<Owned> {
        let size = spans.list_size()?;
        let (found, left) = (Owned::list()?, Owned::list()?);
        let mut bytes = Vec::with_capacity(512);
        for at in 0..size {
            let (span, mode) = (spans.list_item(at)?, modes.list_item(at)?);
            let item = match self.features(span.get(), mode.get()) {
                Ok(Some(features)) => {
                    features.pack(&mut bytes);
                    Owned::bytes(&bytes)?
                }
                Ok(None) => Owned::none(),
                Err(Left::ToPython) => {
                    left.append(&Owned::integer(at)?)?;
                    Owned::none()
                }
                Err(Left::Raised(failure)) => return Err(failure),
            };
            found.append(&item)?;
        }
        Owned::tuple([found, left])
    }

    fn features(&self, span: Borrowed<'_>, mode: Borrowed<'_>) -> Result<Option<Found>> {
        let content = span.attribute(&self.names.content)?;
        let content = content.get();
        if content.is_none() {
            return Ok(None);
        }
        if mode.text() != Some(b"features")
            || content.attribute(&self.names.plan)?.get().is_true()?
        {
            return Err(Left::ToPython);
        }
        let mut found = Found::default();
        let users = content.attribute(&self.names.user_messages)?;
        found.user_messages = number(users.get())?.unwrap_or(0).min(255) as u8;
        let tool = span.attribute(&self.names.tool)?;
        found.activity = self.activity_of(tool.get())?;
        let mut held = Vec::with_capacity(4);
        for (place, (text, bytes)) in self.names.texts.iter().enumerate() {
            held.push(content.attribute(text)?);
            let size = number(content.attribute(bytes)?.get())?;
            found.sizes[place] = bit_length(match size {
                Some(size) => size,
                None if held[place].get().is_none() => 0,
                None => held[place].get().characters()? as u64,
            });
        }
        if let Some(prompt) = head(held[0].get(), PROMPT_CHARS)? {
            found.flags |= HAS_PROMPT;
            found.asked = Some(self.read_prompt(prompt));
        }
        if let Some(response) = head(held[1].get(), TEXT_CHARS)? {
            found.flags |= HAS_RESPONSE;
            found.said = Some(self.read_said(response));
        }
        if let Some(arguments) = head(held[2].get(), TEXT_CHARS)? {
            found.flags |= HAS_ARGUMENTS;
            self.read_call(tool.get(), arguments, &mut found)?;
        }
        if let Some(result) = head(held[3].get(), TEXT_CHARS)? {
            found.flags |= HAS_RESULT;
            found.result_cues =
                bag_of(result, &self.vocabulary.words, &mut self.room.borrow_mut()).cues;
        }
        Ok(Some(found))
    }

    fn read_said(&self, text: &[u8]) -> Said {
        let tokens: Vec<Token<'_>> = split(text).take(40).collect();
        let kept = self.vocabulary.clause_words(&tokens, SAID_WORDS);
        let mut words = Vec::with_capacity(80);
        join(&kept, &mut words);
        Said {
            bag: bag_of(text, &self.vocabulary.words, &mut self.room.borrow_mut()),
            lead: lead_of(&kept),
            words,
        }
    }

    fn read_prompt(&self, text: &[u8]) -> Said {
        let plain;
        let text = if matches!(text[0], b'{' | b'[') {
            plain = without_keys(text);
            &plain
        } else {
            text
        };
        let tokens: Vec<Token<'_>> = split(text).take(64).collect();
        let kept = if text.is_ascii() {
            self.vocabulary
                .prompt_words(&tokens, BEFORE_VERB, ASKED_WORDS)
        } else {
            self.vocabulary.clause_words(&tokens, ASKED_WORDS)
        };
        let mut words = Vec::with_capacity(160);
        join(&kept, &mut words);
        Said {
            bag: bag_of(text, &self.vocabulary.words, &mut self.room.borrow_mut()),
            lead: lead_of(&kept),
            words,
        }
    }

    fn read_call(&self, tool: Borrowed<'_>, text: &[u8], found: &mut Found) -> Result<()> {
        let call = &mut found.call;
        if may_name_operation(text) || found.activity == self.shell {
            let tool = if tool.is_none() {
                string(b"")?
            } else {
                tool.keep()
            };
            let answer = self.activity_of_call.get().call([tool, string(text)?])?;
            found.activity = code(answer.get().tuple_item(0)?)?;
            call.did
                .extend_from_slice(answer.get().tuple_item(1)?.text().ok_or(Left::ToPython)?);
        }
        let stems = stems_of(text);
        *call = Call {
            bag: bag_of(text, &self.vocabulary.words, &mut self.room.borrow_mut()),
            targets: targets_of(text, &stems),
            did: std::mem::take(&mut call.did),
            touched: Vec::new(),
        };
        touched(&stems, &self.vocabulary, &mut call.touched);
        Ok(())
    }

    /// Remembered: tools are few.
    fn activity_of(&self, tool: Borrowed<'_>) -> Result<u8> {
        let spelled = if tool.is_none() {
            b""
        } else {
            tool.text().ok_or(Left::ToPython)?
        };
        if let Some(known) = self.tools.borrow().get(spelled) {
            return Ok(*known);
        }
        let activity = code(self.activity_of_tool.get().call([string(spelled)?])?.get())?;
        let mut tools = self.tools.borrow_mut();
        if tools.len() >= TOOLS {
            tools.clear();
        }
        tools.insert(spelled.into(), activity);
        Ok(activity)
    }
}

fn code(answer: Borrowed<'_>) -> Result<u8> {
    answer
        .integer()
        .and_then(|code| u8::try_from(code).ok())
        .ok_or(Left::ToPython)
}

/// An integer from 0 on; None for None.
fn number(value: Borrowed<'_>) -> Result<Option<u64>> {
    if value.is_none() {
        return Ok(None);
    }
    match value.integer().map(u64::try_from) {
        Some(Ok(number)) => Ok(Some(number)),
        _ => Err(Left::ToPython),
    }
}

fn bit_length(size: u64) -> u8 {
    (64 - size.leading_zeros()) as u8
}

/// The first so many characters, where there are some and no sign is left to Python.
fn head(text: Borrowed<'_>, limit: usize) -> Result<Option<&[u8]>> {
    if text.is_none() {
        return Ok(None);
    }
    let whole = text.text().ok_or(Left::ToPython)?;
    let mut head = &whole[..whole.len().min(limit)];
    if !head.is_ascii() {
        head = beginning(whole, limit).ok_or(Left::ToPython)?;
    }
    // Python also splits at the separators 0x1C to 0x1F, and its patterns take them for white space.
    if head.iter().any(|byte| (0x1C..=0x1F).contains(byte)) {
        return Err(Left::ToPython);
    }
    Ok(if head.is_empty() { None } else { Some(head) })
}

/// The same of a text with signs beyond ASCII; None when one of them may be a letter or a space.
fn beginning(whole: &[u8], limit: usize) -> Option<&[u8]> {
    let most = &whole[..whole.len().min(4 * limit)];
    let valid = std::str::from_utf8(most).map_or_else(|error| error.valid_up_to(), str::len);
    let text = std::str::from_utf8(&most[..valid]).ok()?;
    let mut end = 0;
    for sign in text.chars().take(limit) {
        if !sign.is_ascii() && !is_neutral(sign) {
            return None;
        }
        end += sign.len_utf8();
    }
    Some(&whole[..end])
}

/// Whether `_OPERATION` may match: an object whose first key is "command" or "action".
fn may_name_operation(text: &[u8]) -> bool {
    if text.first() != Some(&b'{') {
        return false;
    }
    let rest = &text[1..];
    let key = &rest[rest.iter().take_while(|byte| is_space(**byte)).count()..];
    key.starts_with(b"\"command\"") || key.starts_with(b"\"action\"")
}
