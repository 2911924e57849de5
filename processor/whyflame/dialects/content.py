"""The texts of one span, cut to what feature extraction needs."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from whyflame.dialects.long_input import newest_user_in
from whyflame.dialects.messages import (
    Message,
    asked_calls,
    flatten_text,
    only_speaks,
    parse,
    walk_messages,
)
from whyflame.dialects.plans import keeps_plan, plan_items
from whyflame.dialects.single_message import single_message
from whyflame.dialects.values import cut_text, read_any, read_text
from whyflame.model import Content, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.dialects.dialect import Keys
    from whyflame.dialects.indexed import IndexedKeys
    from whyflame.model import Span

__all__ = ["fill_content", "set_prompt", "set_text"]

PROMPT_LIMIT, TEXT_LIMIT = 400, 200
_MASKS = frozenset({"__REDACTED__", '"__REDACTED__"', "{}", "[]", "null"})


def _value_text(raw: bytes, *, flat: bool = False) -> str | None:
    """Text of a raw value; structured ones as JSON, as others send them, or `flat`, the texts in it."""
    text = read_text(raw)
    if text is None:
        value = read_any(raw)
        if value in (None, ""):
            return None
        text = (flatten_text(value) if flat else "") or _json(value)
    return None if text in _MASKS else text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def set_text(content: Content, part: str, text: str, limit: int = TEXT_LIMIT) -> None:
    """Stores a text cut to its bound, and its full length in bytes."""
    setattr(content, part, text[:limit])
    setattr(content, f"{part}_bytes", _bytes_of(text))


def set_prompt(content: Content, text: str, user_messages: int | None) -> None:
    """Stores the newest user message: cut text, whole length, hash of the whole."""
    whole = text.encode("utf-8", "replace")
    content.prompt, content.prompt_bytes = text[:PROMPT_LIMIT], len(whole)
    content.prompt_sha256 = hashlib.sha256(whole).hexdigest()
    content.user_messages = user_messages


def fill_content(
    span: Span,
    attributes: Mapping[str, bytes],
    keys: Mapping[str, Keys],
    indexed: IndexedKeys | None,
) -> None:
    """Fills `span.content` and `span.asked` from the keys that its shape has."""
    content = span.content or Content()
    if span.kind in (Kind.LLM, Kind.EMBED, Kind.AGENT):
        _fill_prompt(content, attributes, keys.get("prompt", ()), indexed)
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
        text = _value_text(attributes[key])
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
        raw = (attributes[key] for key in indexed.response)
        parts = [text for value in raw if (text := _value_text(value, flat=True))]
        if parts:
            set_text(content, "response", "\n".join(parts))
        return
    for key in keys:
        text = _value_text(attributes[key])
        if not text:
            continue
        single = single_message(text) if text[0] == "[" else None
        if single is not None:  # speaks, asks for nothing
            if content.response is None and single[1]:
                set_text(content, "response", single[1])
            continue
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
    return (None, 0) if cut[0] in _MASKS else cut


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
