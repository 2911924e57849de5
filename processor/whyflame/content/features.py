"""Content of one span as bounded, versioned bytes: a fixed record, then a few kept words.

The record is numpy-readable (`RECORD`), so that a segmenter reads a million of them by joining
bytes. It holds lengths, cue bits, an activity, hashed targets and two hashed bags of words. The
tail holds the words that may become names, all through `plain_words`; mode `excerpt` adds redacted
excerpts; mode `none` leaves everything but lengths empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from whyflame.content.activity import activity_of_tool
from whyflame.content.native import native_extract
from whyflame.content.redact import MASK, redact
from whyflame.content.texts import (
    EMPTY_BAG,
    FIELD,
    ITEM,
    SAID_WORDS,
    Call,
    Said,
    read_arguments,
    read_cues,
    read_prompts,
    read_said,
)
from whyflame.content.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyflame.model import Content, Span

_Text = TypeVar("_Text")
_Found = TypeVar("_Found")

__all__ = [
    "FIELD",
    "RECORD",
    "RECORD_BYTES",
    "VERSION",
    "Features",
    "decode",
    "extract",
    "extract_all",
    "extract_in_python",
]

VERSION = 1
PROMPT_CHARS, TEXT_CHARS = 400, 200
EXCERPT_CHARS = (1800, 1800, 600, 200)
RECORD = Struct("<BBBBIIIBBBBBBH4I32s32s")
RECORD_BYTES = RECORD.size  # 104
_MOST = 255
HAS_PROMPT, HAS_RESPONSE, HAS_ARGUMENTS, HAS_RESULT, HAS_PLAN = 1, 2, 4, 8, 16
# Spans looked at together: enough for one step to pay, few enough for their texts to stay at hand.
_TOGETHER = 512
_NOTHING: Said = (EMPTY_BAG, 0, 0, "")
_native = native_extract()


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
    return extract_all([span], [mode])[0]


def extract_all(spans: Sequence[Span], modes: Sequence[str]) -> list[bytes | None]:
    """The same for many spans, for less."""
    if _native is None:
        return extract_in_python(spans, modes)
    try:
        found, left = _native(list(spans), list(modes))
    except RuntimeError:
        return extract_in_python(spans, modes)
    if left:
        rest = extract_in_python([spans[at] for at in left], [modes[at] for at in left])
        for at, features in zip(left, rest, strict=True):
            found[at] = features
    return found


def extract_in_python(spans: Sequence[Span], modes: Sequence[str]) -> list[bytes | None]:
    """The same without the native part: what it leaves, and everything where it is missing."""
    found: list[bytes | None] = []
    for begin in range(0, len(spans), _TOGETHER):
        end = begin + _TOGETHER
        found += _extract(spans[begin:end], modes[begin:end])
    return found


def _extract(spans: Sequence[Span], modes: Sequence[str]) -> list[bytes | None]:
    tools = [span.tool or "" for span in spans]
    contents = [
        None if mode == "none" else span.content for span, mode in zip(spans, modes, strict=True)
    ]
    said = _read(
        read_said, [c.response[:TEXT_CHARS] if c and c.response else None for c in contents]
    )
    asked = _read(
        read_prompts, [c.prompt[:PROMPT_CHARS] if c and c.prompt else None for c in contents]
    )
    results = _read(
        read_cues, [c.result[:TEXT_CHARS] if c and c.result else None for c in contents]
    )
    arguments = [
        (tool, c.arguments[:TEXT_CHARS]) if c and c.arguments else None
        for tool, c in zip(tools, contents, strict=True)
    ]
    calls = _read(read_arguments, arguments)
    return [
        None
        if span.content is None
        else _pack_sizes(span.content, activity_of_tool(tool))
        if mode == "none"
        else _pack(span.content, mode, response, prompt, result or 0, call or _silent(tool))
        for span, mode, tool, response, prompt, result, call in zip(
            spans, modes, tools, said, asked, results, calls, strict=True
        )
    ]


def _read(
    read: Callable[[Sequence[_Text]], list[_Found]], texts: Sequence[_Text | None]
) -> list[_Found | None]:
    """What is found in the texts that are there."""
    found = iter(read([text for text in texts if text]))
    return [next(found) if text else None for text in texts]


def _silent(tool: str) -> Call:
    """Of a tool call without arguments."""
    return activity_of_tool(tool), EMPTY_BAG, (0, 0, 0, 0), FIELD


def _pack(
    content: Content, mode: str, said: Said | None, asked: Said | None, result_cues: int, call: Call
) -> bytes:
    bag, said_cues, lead, _ = said or asked or _NOTHING
    activity, argument_bag, targets, did = call
    planned, plan_done = _read_plan(content) if content.plan else ("", 0)
    users = content.user_messages or 0
    record = RECORD.pack(
        VERSION,
        (HAS_PROMPT if asked else 0)
        | (HAS_RESPONSE if said else 0)
        | (HAS_ARGUMENTS if content.arguments else 0)
        | (HAS_RESULT if content.result else 0)
        | (HAS_PLAN if content.plan else 0),
        activity,
        lead,
        said_cues,
        result_cues,
        asked[1] if asked else 0,
        *_sizes(content),
        min(_MOST, users),
        min(_MOST, plan_done),
        0,
        *targets,
        bag,
        argument_bag,
    )
    kept = said[3] if said else "", asked[3] if asked else "", did, planned
    tail = FIELD.join(kept)
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


def _read_plan(content: Content) -> tuple[str, int]:
    """Kept words of the item in progress, and how many items are done."""
    done = sum(1 for _, status in content.plan if status in ("completed", "done"))
    for text, status in content.plan:
        if status in ("in_progress", "doing", "active"):
            return ITEM.join(plain_words(text[:TEXT_CHARS].split(), SAID_WORDS)), done
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
        VERSION, 0, activity, 0, 0, 0, 0, *sizes, 0, 0, 0, 0, 0, 0, 0, EMPTY_BAG, EMPTY_BAG
    )


def _excerpts(content: Content) -> list[str]:
    texts = (content.prompt, content.response, content.arguments, content.result)
    return [
        redact((text or "")[:limit]).replace(FIELD, " ").replace(MASK, "[secret]")
        for text, limit in zip(texts, EXCERPT_CHARS, strict=True)
    ]
