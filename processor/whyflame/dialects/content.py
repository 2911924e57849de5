"""The texts of one span, cut to what feature extraction needs."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from whyflame.dialects.long_input import newest_user_in, newest_user_of
from whyflame.dialects.messages import (
    Message,
    asked_calls,
    flatten_text,
    only_speaks,
    parse,
    walk_messages,
)
from whyflame.dialects.plans import keeps_plan, plan_items
from whyflame.dialects.single_message import single_message, single_value
from whyflame.dialects.values import cut_text, read_any, read_text
from whyflame.model import Content, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.dialects.dialect import Keys
    from whyflame.dialects.indexed import IndexedKeys
    from whyflame.model import Span

__all__ = ["fill_content", "set_prompt", "set_text"]

PROMPT_LIMIT, TEXT_LIMIT = 400, 200
# Programs put it in front of the first request of a session: a listing of files, the date.
_CONTEXT = re.compile(r"\s*<session_context>.*</session_context>\s*(?=\S)", re.DOTALL)
_MASKS = frozenset({"__REDACTED__", '"__REDACTED__"', "{}", "[]", "null"})
_LONGEST_MASK = max(map(len, _MASKS))
_REMEMBERED, _REMEMBERED_BYTES = 512, 16_384
_hashes: dict[bytes, tuple[bytes, str]] = {}


def _value_text(raw: bytes, *, flat: bool = False) -> str | None:
    """Text of a raw value; structured ones as JSON, as others send them, or `flat`, the texts in it."""
    text = read_text(raw)
    if text is None:
        value = read_any(raw)
        if value in (None, ""):
            return None
        text = (flatten_text(value) if flat else "") or _json(value)
    return None if _is_mask(text) else text


def _is_mask(text: str) -> bool:
    # To look a text of 2 KB up takes a microsecond.
    return len(text) <= _LONGEST_MASK and text in _MASKS


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def set_text(content: Content, part: str, text: str, limit: int = TEXT_LIMIT) -> None:
    """Stores a text cut to its bound, and its full length in bytes."""
    setattr(content, part, text[:limit])
    setattr(content, f"{part}_bytes", _bytes_of(text))


def set_prompt(content: Content, text: str, user_messages: int | None) -> None:
    """Stores the newest user message: cut text, whole length, hash of the whole."""
    if text[:1] == "<" and (context := _CONTEXT.match(text)):
        text = text[context.end() :]
    content.user_messages = user_messages
    _set_prompt(content, text[:PROMPT_LIMIT], text.encode("utf-8", "replace"))


def _set_prompt(content: Content, head: str, whole: bytes) -> None:
    content.prompt, content.prompt_bytes = head, len(whole)
    content.prompt_sha256 = _hash_of(whole)


def _hash_of(prompt: bytes) -> str:
    """SHA-256; of 100 calls of an agent 62 have the message of the call before."""
    end = prompt[-64:]
    known = _hashes.get(end)
    if known is not None and known[0] == prompt:
        return known[1]
    found = hashlib.sha256(prompt).hexdigest()
    if len(prompt) <= _REMEMBERED_BYTES:
        if len(_hashes) >= _REMEMBERED:
            _hashes.clear()
        _hashes[end] = prompt, found
    return found


def fill_content(
    span: Span,
    attributes: Mapping[str, bytes],
    keys: Mapping[str, Keys],
    indexed: IndexedKeys | None,
) -> None:
    """Fills `span.content` and `span.asked` from the keys that its shape has."""
    content = span.content or Content()
    if span.kind in (Kind.LLM, Kind.EMBED, Kind.AGENT, Kind.PROMPT):
        _fill_prompt(content, attributes, keys.get("prompt", ()), indexed)
        if span.kind is not Kind.PROMPT:
            _fill_response(span, content, attributes, keys.get("response", ()), indexed)
    elif span.kind in (Kind.TOOL, Kind.CONTROL):
        _fill_tool(span, content, attributes, keys)
    span.content = content


def _fill_prompt(
    content: Content,
    attributes: Mapping[str, bytes],
    keys: Keys,
    indexed: IndexedKeys | None,
) -> None:
    if content.prompt is not None:
        return
    if indexed and indexed.prompt and _fill_indexed_prompt(content, attributes, indexed):
        return
    for key in keys:
        raw = attributes[key]
        newest_user = newest_user_of(raw, PROMPT_LIMIT)
        if newest_user is not None:
            head, whole, content.user_messages = newest_user
            if head:
                _set_prompt(content, head, whole)
                return
            continue
        text = _value_text(raw)
        if not text:
            continue
        newest, count = newest_user_in(text)
        if newest is None and count is None:
            newest = text
        if newest:
            set_prompt(content, newest, count)
            return
        content.user_messages = count


def _fill_indexed_prompt(
    content: Content, attributes: Mapping[str, bytes], indexed: IndexedKeys
) -> bool:
    users = [
        texts for role, texts in indexed.prompt if read_text(attributes[role]) in ("user", "human")
    ]
    content.user_messages = len(users)
    for texts in reversed(users):
        parts = [text for key in texts if (text := _value_text(attributes[key], flat=True))]
        if parts:
            set_prompt(content, "\n".join(parts), len(users))
            return True
    return False


def _fill_response(
    span: Span,
    content: Content,
    attributes: Mapping[str, bytes],
    keys: Keys,
    indexed: IndexedKeys | None,
) -> None:
    if indexed and (indexed.response or indexed.calls):
        calls = [read_text(attributes[key]) for key in indexed.calls]
        span.asked = tuple(dict.fromkeys(call for call in calls if call))
        values = (attributes[key] for key in indexed.response)
        parts = [text for value in values if (text := _value_text(value, flat=True))]
        if parts:
            set_text(content, "response", "\n".join(parts))
        return
    for key in keys:
        raw = attributes[key]
        speech = single_value(raw, TEXT_LIMIT)
        if speech is None:
            _read_response(span, content, raw)
        elif content.response is None and speech[1]:  # speaks, asks for nothing
            content.response, content.response_bytes = speech[1], len(speech[2])


def _read_response(span: Span, content: Content, raw: bytes) -> None:
    """What was said, where nothing was found before; and which tools are asked for."""
    text = _value_text(raw)
    if not text:
        return
    single = single_message(text) if text[0] == "[" else None
    if single is not None:
        if content.response is None and single[1]:
            set_text(content, "response", single[1])
        return
    parsed = parse(text) if text[0] in "[{" else None
    messages = walk_messages(parsed) if parsed is not None else []
    if span.kind is Kind.LLM and not span.asked and not _only_speak(messages):
        span.asked = tuple(asked_calls(parsed))
    spoken = _response_text(parsed, messages) if parsed is not None else text
    if content.response is None and spoken:
        set_text(content, "response", spoken)


def _only_speak(messages: list[Message]) -> bool:
    return bool(messages) and all(only_speaks(message) for message in messages)


def _response_text(parsed: Any, messages: list[Message]) -> str:
    for message in reversed(messages):
        text = message.text if message.role == "assistant" else ""
        if text:
            return text
    return flatten_text(parsed)


def _fill_tool(
    span: Span, content: Content, attributes: Mapping[str, bytes], keys: Mapping[str, Keys]
) -> None:
    for key in keys.get("arguments", ()):
        head, size = _cut(attributes[key], flat=False)
        if head:
            content.arguments, content.arguments_bytes = head, size
            if keeps_plan(span.tool):
                content.plan = plan_items(_value_text(attributes[key]) or "")
            break
    for key in keys.get("result", ()):
        head, size = _cut(attributes[key], flat=True)
        if head:
            content.result, content.result_bytes = head, size
            break


def _cut(raw: bytes, *, flat: bool) -> tuple[str | None, int]:
    """(beginning, bytes of the whole) of a text, the rest not decoded; None when there is none."""
    cut = cut_text(raw, TEXT_LIMIT)
    if cut is None:
        text = _value_text(raw, flat=flat) or ""
        return text[:TEXT_LIMIT] or None, _bytes_of(text)
    return (None, 0) if _is_mask(cut[0]) else cut


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
