"""Conditions on the trace of an operation, which only the tables `traces` and `spans` know by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.where import Fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["in_traces", "in_traces_like"]

_IN = "trace_key IN (SELECT trace_key FROM traces WHERE {0})"


def in_traces(traces: Sequence[str]) -> Fragment:
    """True for operations of these traces, given in hex; for none when one is no id."""
    try:
        ids = [bytes.fromhex(text) for text in traces]
    except ValueError:
        return Fragment("FALSE")
    return Fragment(_IN.format("trace_id IN (SELECT unnest(?::BLOB[]))"), (ids,))


def in_traces_like(pattern: str) -> Fragment:
    """True for operations of traces whose id in lower-case hex matches a regular expression."""
    return Fragment(_IN.format("regexp_matches(lower(hex(trace_id)), ?)"), (pattern,))
