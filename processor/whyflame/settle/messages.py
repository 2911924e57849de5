"""Texts that came in records of their own are joined to the call they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whyflame.content import join_features
from whyflame.dialects.message_events import DETAILS, MESSAGES
from whyflame.model import Content, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Span

__all__ = ["is_message", "join_messages"]

_TELLING = frozenset({MESSAGES, DETAILS})
_SPEAKING = (Kind.LLM, Kind.AGENT)
_Key = tuple[str, bytes, bytes]


def is_message(span: Span) -> bool:
    """Whether a span stands for the texts of another one."""
    return span.name == MESSAGES and span.signal == "log"


def join_messages(spans: Sequence[Span]) -> Sequence[Span]:
    """The spans, those with messages beside them as if the texts had been their own.

    What a span has itself stays. The messages remain spans that count as nothing, so that it does
    not matter which of them came first, how often, or how they were split.

    Args:
        spans: Of one settle group, whole traces.
    """
    told: dict[_Key, list[Span]] = {}
    for span in spans:
        if span.signal == "log" and span.name in _TELLING and span.parent_id is not None:
            told.setdefault((span.tenant, span.trace_id, span.parent_id), []).append(span)
    if not told:
        return spans
    joined = []
    for span in spans:
        messages = told.get((span.tenant, span.trace_id, span.span_id), ())
        speaks = messages and span.kind in _SPEAKING
        joined.append(_join(span, sorted(messages, key=_newest_first)) if speaks else span)
    return joined


def _newest_first(span: Span) -> tuple[int, bytes]:
    return -(span.end_ns or 0), span.span_id


def _join(span: Span, messages: Sequence[Span]) -> Span:
    asked = [call for message in reversed(messages) for call in message.asked]
    told = [message.features for message in messages if message.features]
    return replace(
        span,
        asked=span.asked or tuple(dict.fromkeys(asked)),
        content=_join_content(span.content, [message.content for message in messages]),
        features=join_features(span.features, told),
    )


def _join_content(own: Content | None, others: Sequence[Content | None]) -> Content:
    """Sizes, the newest message's hash, and how many messages the records of the call held."""
    content, parts = replace(own or Content()), [part for part in others if part is not None]
    for part in parts:
        if content.prompt_sha256 is None and part.prompt_sha256 is not None:
            content.prompt_sha256, content.prompt_bytes = part.prompt_sha256, part.prompt_bytes
        if content.response_bytes is None:
            content.response_bytes = part.response_bytes
    if content.user_messages is None:
        counts = [part.user_messages for part in parts if part.user_messages is not None]
        content.user_messages = sum(counts) if counts else None
    return content
