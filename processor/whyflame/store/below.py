"""A span and everything below it: the operations of a subtree.

The tables are in order of arrival, so every statement is bounded by times or keys first: the store
then reads a few row groups and not all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.errors import UsageError
from whyflame.fold.where import Fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.store.running import RunningQuery

__all__ = ["among", "operations_below"]

MAX_SPANS = 1000

_ROOTS = """
SELECT span_key, trace_key FROM spans
WHERE start_ns <= ? AND (end_ns >= ? OR (end_ns IS NULL AND start_ns >= ?))
  AND tenant = ? AND span_id IN ({marks})
"""
# Parent links of damaged telemetry may run in circles: UNION drops what was seen.
_BELOW = """
WITH RECURSIVE nearby AS (
    SELECT span_key, trace_key, span_id, parent_id FROM spans WHERE {traces}
), below AS (
    SELECT span_key, trace_key, span_id FROM nearby WHERE {roots}
    UNION
    SELECT n.span_key, n.trace_key, n.span_id FROM nearby n
    JOIN below b ON n.trace_key = b.trace_key AND n.parent_id = b.span_id
)
SELECT span_key FROM below
UNION
SELECT same_as FROM settled_now
WHERE {traces} AND same_as IS NOT NULL AND span_key IN (SELECT span_key FROM below)
"""


def operations_below(
    query: RunningQuery, spans: Sequence[str], tenant: str, between_ns: tuple[int, int]
) -> Fragment:
    """True for the operations of these spans, of all their descendants, and of what they are views of.

    Args:
        query: To run on. spans: Ids in hex. tenant: Whose.
        between_ns: The spans themselves overlap this time; what is below them need not.

    Raises:
        UsageError: More than a thousand spans.
    """
    if len(spans) > MAX_SPANS:
        raise UsageError(f"more than {MAX_SPANS} spans at once")
    since, until = between_ns
    roots = query.rows(
        _ROOTS.format(marks=", ".join("?" * len(spans))),
        [until, since, since, tenant, *(bytes.fromhex(span) for span in spans)],
    )
    if not roots:
        return Fragment("FALSE")
    traces = among("trace_key", [trace for _, trace in roots])
    keys = query.rows(_BELOW.format(traces=traces, roots=among("span_key", [k for k, _ in roots])))
    return Fragment(among("span_key", [key for (key,) in keys]))


def among(column: str, keys: Sequence[int]) -> str:
    """A test for keys, which are the store's own integers; their bounds let row groups be skipped."""
    distinct = sorted(set(keys))
    listed = ", ".join(map(str, distinct))
    return f"{column} BETWEEN {distinct[0]} AND {distinct[-1]} AND {column} IN ({listed})"
