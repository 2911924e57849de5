"""Spans and log events of one producer report the same operations: one signal counts a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.repeats import usage_key
from whyflame.settle.sessions import known_sessions
from whyflame.settle.views import CALLS, is_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.model import Span
    from whyflame.settle.ledger import Ledger

__all__ = ["choose_signals"]

EVENTS_FIRST = frozenset({"gemini_cli", "qwen_code"})
"""Dialects whose events are complete while their spans lack figures and results."""

_NEAR_NS = 5_000_000_000
"""How far apart both signals may write one operation."""

_Key = tuple[object, ...]

_COUNTED = (Kind.LLM, Kind.EMBED, Kind.TOOL, Kind.CONTROL)


def choose_signals(ledger: Ledger) -> None:
    """Drops what counts from the other signal, per dialect and session."""
    signals = {span.signal for span in ledger.spans}
    if "log" in signals:
        _join_described_spans(ledger)
    if len(signals) < 2:  # noqa: PLR2004 - nothing to choose
        return
    groups: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    sessions = known_sessions(ledger.forest)
    for index, span in enumerate(ledger.spans):
        if ledger.is_open(index) and span.kind in _COUNTED:
            session = sessions[index] or f"{span.service}\0{span.instance or ''}"
            group = groups.setdefault((span.tenant, span.dialect, session), {})
            group.setdefault(span.signal, []).append(index)
    for (_, dialect, _), group in groups.items():
        events, spans = group.get("log", []), group.get("span", [])
        if events and spans:
            _drop_other(ledger, dialect, events, spans)


def _drop_other(ledger: Ledger, dialect: str, events: list[int], spans: list[int]) -> None:
    if dialect in EVENTS_FIRST:
        kinds = {ledger.spans[index].kind for index in events}
        spans = [index for index in spans if ledger.spans[index].kind in kinds]
        _attach(ledger, events, spans)
    elif any(ledger.spans[index].has_usage for index in spans):
        _attach(ledger, spans, events)


def _attach(ledger: Ledger, counted: list[int], others: list[int]) -> None:
    """Makes each of the others a view of its counterpart, which may lack a cost, a name or a text.

    First by all that usage says and by the id of a tool call, then by sums and the tool's name:
    one signal may tell neither the cache and thinking nor which call it was.
    """
    left = _pair(ledger, counted, others, _counterpart_key)
    taken = {ledger.head[index] for index in others}
    for index in _pair(ledger, [i for i in counted if i not in taken], left, _coarse_key):
        ledger.drop(index, "other_signal")


def _pair(
    ledger: Ledger, counted: list[int], others: list[int], key_of: Callable[[Span], _Key | None]
) -> list[int]:
    """Merges others with the nearest in time of equal key, each once; those that found none."""
    free: dict[_Key | None, list[int]] = {}
    for index in counted:
        free.setdefault(key_of(ledger.spans[index]), []).append(index)
    free.pop(None, None)
    left = []
    for index in others:
        candidates = free.get(key_of(ledger.spans[index]), [])
        span, end = ledger.spans[index], _end(ledger.spans[index])
        near = [
            (abs(end - _end(ledger.spans[candidate])), candidate)
            for candidate in candidates
            if not _are_told_apart(span, ledger.spans[candidate])
        ]
        distance, found = min(near, default=(_NEAR_NS, -1))
        if distance >= _NEAR_NS:
            left.append(index)
            continue
        candidates.remove(found)
        ledger.merge(found, index, "other_signal")
    return left


def _counterpart_key(span: Span) -> _Key:
    if span.kind is Kind.TOOL:
        return (span.kind, span.call_id or span.tool)
    return (span.kind, *usage_key(span))


def _coarse_key(span: Span) -> _Key | None:
    """A tool's name; input with its cache and output without thinking, None where that is unknown."""
    if span.kind is Kind.TOOL:
        return (span.kind, span.tool) if span.tool else None
    if span.input_uncached is None or span.output_visible is None:
        return None
    read = span.input_uncached + (span.cache_read or 0) + (span.cache_write or 0)
    return (span.kind, read, span.output_visible)


def _are_told_apart(one: Span, other: Span) -> bool:
    """Both say which call they are, and it is not the same."""
    return None not in (one.call_id, other.call_id) and one.call_id != other.call_id


def _end(span: Span) -> int:
    return span.end_ns or span.start_ns or 0


def _join_described_spans(ledger: Ledger) -> None:
    """An event that describes the span it was written in (same ids) adds figures, not a call."""
    described: dict[tuple[str, bytes, bytes | None, str], int] = {}
    for index in ledger.forest.by_start:
        span = ledger.spans[index]
        if span.signal != "log" or not is_call(span) or not ledger.is_open(index):
            continue
        parent = ledger.forest.parent[index]
        if parent >= 0 and ledger.spans[parent].kind in CALLS and ledger.is_open(parent):
            ledger.merge(parent, index, "other_signal")
        elif span.parent_id is not None and parent < 0:
            key = (span.tenant, span.trace_id, span.parent_id, span.dialect)
            first = described.setdefault(key, index)
            if first != index and span.dialect == "genai":
                ledger.merge(first, index, "other_signal")
