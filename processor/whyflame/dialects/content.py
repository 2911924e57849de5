"""The texts of one span, cut to what feature extraction needs."""

from __future__ import annotations

import hashlib
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


def _value_text(raw: bytes) -> str | None:
    """Text of a raw value; structured values as text of their own."""
    text = read_text(raw)
    if text is None:
        value = read_any(raw)
        if value in (None, ""):
            return None
        text = flatten_text(value) or str(value)
    return None if text in _MASKS else text


def set_text(content: Content, part: str, text: str, limit: int = TEXT_LIMIT) -> None:
    """Stores a text cut to its bound, and its full length in bytes."""
    setattr(content, part, text[:limit])
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    setattr(content, f"{part}_bytes", size)


def set_prompt(content: Content, text: str, user_messages: int | None) -> None:
    """Stores the newest user message: cut text, whole length, hash of the whole."""
    set_text(content, "prompt", text, PROMPT_LIMIT)
    content.prompt_sha256 = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
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
        parts = [text for key in texts if (text := _value_text(attributes[key]))]
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
        parts = [text for key in indexed.response if (text := _value_text(attributes[key]))]
        if parts:
            set_text(content, "response", "\n".join(parts))
        return
    for key in keys:
        text = _value_text(attributes[key])
        if not text:
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
    for part in ("arguments", "result"):
        for key in keys.get(part, ()):
            if _set_cut(content, part, attributes[key]):
                if part == "arguments" and keeps_plan(span.tool):
                    content.plan = plan_items(_value_text(attributes[key]) or "")
                break


def _set_cut(content: Content, part: str, raw: bytes) -> bool:
    """Stores the beginning of a text without decoding the rest; False when there is none."""
    cut = cut_text(raw, TEXT_LIMIT)
    if cut is None:
        text = _value_text(raw)
        if text:
            set_text(content, part, text)
        return bool(text)
    text, size = cut
    if not text or text in _MASKS:
        return False
    setattr(content, part, text)
    setattr(content, f"{part}_bytes", size)
    return True
