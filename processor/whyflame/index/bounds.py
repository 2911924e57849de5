"""Bounds on what one span may put into the store: text lengths, list lengths.

Names are cut. Ids that join spans (session, call id, ...) end in a hash when they are cut, so that
different ones stay different.
"""

from __future__ import annotations

import hashlib
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["TEXT_TOO_LONG", "TOO_MANY_ENTRIES", "bound_span"]

TEXT_TOO_LONG = "text_too_long"
TOO_MANY_ENTRIES = "too_many_entries"

MAX_ENTRIES = 256
_NAMES = (
    "name", "scope", "scope_version", "service", "service_version", "environment", "agent",
    "model", "request_model", "provider", "tool", "error_type", "outcome", "usage_semantics",
    "skill", "path_group", "domain", "effect",
)  # fmt: skip
_IDS = ("instance", "host", "session", "conversation", "user", "agent_id", "call_id", "response_id")
_DIGEST_CHARS = 16
_texts_of = attrgetter(*_NAMES, *_IDS)


def bound_span(span: Span, max_text: int) -> None:
    """Cut what is longer than a store wants to keep; says so in `span.dubious`.

    Args:
        span: As its dialect read it. max_text: Characters of one name or id.
    """
    # Nearly every span: all its texts together are shorter than one may be. 0.7 us instead of 5.
    was_cut = False
    if len("".join(filter(None, _texts_of(span)))) > max_text:
        was_cut = _bound_texts(span, max_text)
    if span.asked or span.extra or span.links:
        was_cut = _bound_lists(span, max_text) or was_cut
    if was_cut:
        span.dubious = (*span.dubious, TEXT_TOO_LONG)


def _bound_texts(span: Span, max_text: int) -> bool:
    was_cut = False
    for field in (*_NAMES, *_IDS):
        text = getattr(span, field)
        if text is not None and len(text) > max_text:
            setattr(span, field, _cut_id(text, max_text) if field in _IDS else text[:max_text])
            was_cut = True
    return was_cut


def _bound_lists(span: Span, max_text: int) -> bool:
    """Lists and promoted fields; True when a text was cut."""
    if max(len(span.asked), len(span.extra), len(span.links)) > MAX_ENTRIES:
        span.asked, span.links = span.asked[:MAX_ENTRIES], span.links[:MAX_ENTRIES]
        span.extra = dict(islice(span.extra.items(), MAX_ENTRIES))
        span.dubious = (*span.dubious, TOO_MANY_ENTRIES)
    was_cut = False
    if any(len(call) > max_text for call in span.asked):
        span.asked = tuple(
            _cut_id(call, max_text) if len(call) > max_text else call for call in span.asked
        )
        was_cut = True
    if any(len(text) > max_text for text in span.extra.values()):
        span.extra = {name: text[:max_text] for name, text in span.extra.items()}
        was_cut = True
    return was_cut


def _cut_id(text: str, max_text: int) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]
    return f"{text[: max_text - _DIGEST_CHARS - 1]}~{digest}"
