"""Content of one span as bounded, versioned bytes: a fixed record, then a few kept words.

The record is numpy-readable (`RECORD`), so that a segmenter reads a million of them by joining
bytes. It holds lengths, cue bits, an activity, hashed targets and two hashed bags of words. The
tail holds the words that may become names, all through `plain_words`; mode `excerpt` adds redacted
excerpts; mode `none` leaves everything but lengths empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from whyflame.content.activity import CODES, activity_of_command, activity_of_tool
from whyflame.content.redact import redact
from whyflame.content.words import (
    BAG_BITS,
    bag_of,
    clause_words,
    known_words,
    lead_of,
    plain_words,
    plea_at,
    verb_sentence_at,
)

if TYPE_CHECKING:
    from whyflame.model import Content, Span

__all__ = ["FIELD", "RECORD", "RECORD_BYTES", "VERSION", "Features", "decode", "extract"]

VERSION = 1
PROMPT_CHARS, TEXT_CHARS = 400, 200
EXCERPT_CHARS = (1800, 1800, 600, 200)
RECORD = Struct("<BBBBIIIBBBBBBH4I32s32s")
RECORD_BYTES = RECORD.size  # 104
_BAG_BYTES = BAG_BITS // 8
_BAG_MASK = (1 << BAG_BITS) - 1
_EMPTY_BAG = bytes(_BAG_BYTES)
_SAID, _ASKED, _DID, _TOUCHED, _STEM_CHARS = 7, 14, 3, 3, 24
HAS_PROMPT, HAS_RESPONSE, HAS_ARGUMENTS, HAS_RESULT, HAS_PLAN = 1, 2, 4, 8, 16
_BEFORE_VERB = 6  # so many words may stand before the verb of a request
FIELD, _ITEM = "\x1f", " "

_COMMAND_KEY = re.compile(r'"(?:command|cmd|script|code)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)')
_OPERATION = re.compile(r'^\s*\{\s*"(?:command|action)"\s*:\s*"([a-z_]+)"')
_PATH = re.compile(r"[\w.~-]*/[\w./~-]+|\b\w[\w-]*\.[a-z]\w{0,5}\b")
_JSON_KEY = re.compile(r'"\w{1,40}"\s*:')
_JSON_SIGNS = str.maketrans(dict.fromkeys('{}[]",', " "))
_VALUES = re.compile(r':\s*"?([#\w][\w.@-]{2,})')
_STEM = re.compile(r"[a-zA-Z][a-zA-Z_-]+")
_EDITOR = {"view": "inspect", "create": "create", "str_replace": "edit", "insert": "edit"}
_SHELL = CODES["run"]
_TEXTS = 1024  # beginnings of texts remembered with what was found in them, 200 to 400 characters
_Read = tuple[bytes, int, int, str]
"""Bag, cue bits, lead class, kept words joined."""
_NOTHING: _Read = (_EMPTY_BAG, 0, 0, "")


@dataclass(slots=True)
class Features:
    """Decoded features of one span.

    Attributes:
        flags: Which texts were seen (HAS_*).
        activity: Code of `whyflame.content.activity.ACTIVITIES`.
        lead: Class of the first verb said (`vocabulary.LEADS`).
        said_cues, result_cues, asked_cues: Cue bits of what was said (else asked), of the result,
            of the prompt.
        sizes: Bit lengths of the four texts' sizes in bytes.
        user_messages: User messages in the input, capped; 0 when unseen.
        targets: Hashes of file stems or argument values.
        text_bag, argument_bag: Hashed bags of words, 256 bits each.
        said, asked, did, touched, planned: Kept words: of the response, of the prompt, of the
            command, file stems, of the plan item in progress.
        excerpts: Redacted prompt, response, arguments, result (mode `excerpt` only).
    """

    flags: int = 0
    activity: int = 0
    lead: int = 0
    said_cues: int = 0
    result_cues: int = 0
    asked_cues: int = 0
    sizes: tuple[int, int, int, int] = (0, 0, 0, 0)
    user_messages: int = 0
    plan_done: int = 0
    targets: tuple[int, int, int, int] = (0, 0, 0, 0)
    text_bag: int = 0
    argument_bag: int = 0
    said: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    did: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    excerpts: tuple[str, str, str, str] = ("", "", "", "")


def extract(span: Span, mode: str) -> bytes | None:
    """Features of the span's content; None when it carries none.

    Args:
        span: Read by its dialect; `span.content` is looked at, nothing is changed.
        mode: "features", "excerpt" (redacted excerpts too) or "none" (lengths only).
    """
    content = span.content
    if content is None:
        return None
    if mode == "none":
        return _pack_sizes(content, activity_of_tool(span.tool or ""))
    response, prompt = content.response, content.prompt
    arguments, result = content.arguments, content.result
    bag, said_cues, lead, said = _read_text(response[:TEXT_CHARS]) if response else _NOTHING
    asked, asked_cues = "", 0
    if prompt:
        prompt_bag, asked_cues, prompt_lead, asked = _read_prompt(prompt[:PROMPT_CHARS])
        if not response:
            bag, said_cues, lead = prompt_bag, asked_cues, prompt_lead
    activity, argument_bag, targets, did = _read_arguments(
        span.tool or "", arguments[:TEXT_CHARS] if arguments else ""
    )
    planned, plan_done = _read_plan(content) if content.plan else ("", 0)
    record = RECORD.pack(
        VERSION,
        (HAS_PROMPT if prompt else 0)
        | (HAS_RESPONSE if response else 0)
        | (HAS_ARGUMENTS if arguments else 0)
        | (HAS_RESULT if result else 0)
        | (HAS_PLAN if content.plan else 0),
        activity,
        lead,
        said_cues,
        _cues_of(result[:TEXT_CHARS]) if result else 0,
        asked_cues,
        *_sizes(content),
        min(content.user_messages or 0, 255),
        min(plan_done, 255),
        0,
        *targets,
        bag,
        argument_bag,
    )
    tail = f"{said}{FIELD}{asked}{FIELD}{did}{FIELD}{planned}"
    if mode == "excerpt":
        tail += FIELD + FIELD.join(_excerpts(content))
    return record + tail.encode("utf-8", "replace")


def decode(features: bytes) -> Features:
    """The features in `features`; what a newer version added is ignored.

    Raises:
        ValueError: Not features of a known version.
    """
    if len(features) < RECORD_BYTES or not 0 < features[0] <= VERSION:
        raise ValueError(f"not features of version 1..{VERSION}: {features[:4]!r}")
    raw = RECORD.unpack_from(features)
    said, asked, did, touched, planned, excerpts = decode_words(features)
    return Features(
        flags=raw[1],
        activity=raw[2],
        lead=raw[3],
        said_cues=raw[4],
        result_cues=raw[5],
        asked_cues=raw[6],
        sizes=raw[7:11],
        user_messages=raw[11],
        plan_done=raw[12],
        targets=raw[14:18],
        text_bag=int.from_bytes(raw[18], "little"),
        argument_bag=int.from_bytes(raw[19], "little"),
        said=said,
        asked=asked,
        did=did,
        touched=touched,
        planned=planned,
        excerpts=excerpts,
    )


_Words = tuple[str, ...]


def decode_words(
    features: bytes,
) -> tuple[_Words, _Words, _Words, _Words, _Words, tuple[str, str, str, str]]:
    """Only the tail: said, asked, did, touched, planned words and the excerpts."""
    fields = features[RECORD_BYTES:].decode("utf-8", "replace").split(FIELD)
    fields += [""] * (9 - len(fields))
    said, asked, did, touched, planned = (tuple(field.split()) for field in fields[:5])
    return said, asked, did, touched, planned, (fields[5], fields[6], fields[7], fields[8])


def _split_bag(bag: int) -> tuple[bytes, int]:
    """(bag, cue bits) of what `bag_of` found."""
    return (bag & _BAG_MASK).to_bytes(_BAG_BYTES, "little"), bag >> BAG_BITS


# Texts repeat: a prompt in every call of its turn; of 31,000 beginnings of responses, arguments and
# results in real captures 44, 67 and 73 in a hundred had been seen before.
@lru_cache(maxsize=_TEXTS)
def _read_text(text: str) -> _Read:
    """Bag, cues, lead class and kept words of something said."""
    tokens = text.split()
    bag = bag_of(tokens)
    said = clause_words(text, tokens, _SAID)
    return *_split_bag(bag), lead_of(said), _ITEM.join(said)


@lru_cache(maxsize=_TEXTS)
def _read_prompt(text: str) -> _Read:
    """Like `_read_text` for a prompt; of a decorated function's inputs only the values."""
    if text[0] in "{[":
        text = _JSON_KEY.sub(" ", text).translate(_JSON_SIGNS)
    tokens = text.split()
    bag = bag_of(tokens)
    asked = _prompt_words(tokens) if text.isascii() else clause_words(text, tokens, _ASKED)
    return *_split_bag(bag), lead_of(asked), _ITEM.join(asked)


@lru_cache(maxsize=_TEXTS)
def _cues_of(text: str) -> int:
    return bag_of(text.split()) >> BAG_BITS


def _prompt_words(tokens: list[str]) -> list[str]:
    """Words of what is asked for first, what stands before it behind."""
    tokens = tokens[:64]
    begin = plea_at(tokens) or verb_sentence_at(tokens, _BEFORE_VERB)
    return known_words([*tokens[begin:], ".", *tokens[:begin]], _ASKED)


@lru_cache(maxsize=_TEXTS)
def _read_arguments(tool: str, text: str) -> tuple[int, bytes, tuple[int, ...], str]:
    """Activity, bag, target hashes and kept words of a tool call."""
    activity = activity_of_tool(tool)
    if not text:
        return activity, _EMPTY_BAG, (0, 0, 0, 0), FIELD
    did: tuple[str, ...] = ()
    if text[0] == "{":
        if operation := _OPERATION.match(text):
            activity = CODES.get(_EDITOR.get(operation[1], ""), activity)
        if activity == _SHELL and (command := _COMMAND_KEY.search(text)):
            activity, did = activity_of_command(command[1].replace("\\n", "\n"))
    elif activity == _SHELL:
        activity, did = activity_of_command(text)
    tokens = text.split()
    found: list[str] = []
    if "/" in text or "." in text:
        # No path spans white space: the pattern need not try at every word of a text.
        places = " ".join([token for token in tokens if "/" in token or "." in token])
        found = _PATH.findall(places)[:6]
    stems = [path.rstrip("/").rpartition("/")[2].split(".", 1)[0] for path in found]
    touched = [stem.lower() for stem in stems if _STEM.fullmatch(stem) and len(stem) <= _STEM_CHARS]
    targets = [crc32(stem.encode()) or 1 for stem in dict.fromkeys(filter(None, stems))]
    if not targets and text[0] == "{":
        targets = [crc32(value.encode()) or 1 for value in _VALUES.findall(text)[:4]]
    bag, _ = _split_bag(bag_of(tokens))
    kept = _ITEM.join(did[:_DID]) + FIELD + _ITEM.join(_plain_stems(touched)[:_TOUCHED])
    return activity, bag, (*targets[:4], 0, 0, 0, 0)[:4], kept


def _plain_stems(stems: list[str]) -> list[str]:
    """Words of file stems, longest-lived first, without names of people."""
    words: dict[str, None] = {}
    for stem in stems:
        for word in plain_words(stem.replace("_", " ").replace("-", " ").split(), 3):
            words[word] = None
    return list(words)


def _read_plan(content: Content) -> tuple[str, int]:
    """Kept words of the item in progress, and how many items are done."""
    done = sum(1 for _, status in content.plan if status in ("completed", "done"))
    for text, status in content.plan:
        if status in ("in_progress", "doing", "active"):
            return _ITEM.join(plain_words(text[:TEXT_CHARS].split(), _SAID)), done
    return "", done


def _sizes(content: Content) -> tuple[int, int, int, int]:
    """Bit lengths; where only a text is known, of its characters."""
    prompt, response = content.prompt_bytes, content.response_bytes
    arguments, result = content.arguments_bytes, content.result_bytes
    return (
        (len(content.prompt or "") if prompt is None else prompt).bit_length(),
        (len(content.response or "") if response is None else response).bit_length(),
        (len(content.arguments or "") if arguments is None else arguments).bit_length(),
        (len(content.result or "") if result is None else result).bit_length(),
    )


def _pack_sizes(content: Content, activity: int) -> bytes:
    sizes = _sizes(content)
    return RECORD.pack(
        VERSION, 0, activity, 0, 0, 0, 0, *sizes, 0, 0, 0, 0, 0, 0, 0, _EMPTY_BAG, _EMPTY_BAG
    )


def _excerpts(content: Content) -> list[str]:
    texts = (content.prompt, content.response, content.arguments, content.result)
    return [
        redact((text or "")[:limit]).replace(FIELD, " ")
        for text, limit in zip(texts, EXCERPT_CHARS, strict=True)
    ]
