"""A span and everything below it: the keys of the operations of a subtree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.store.running import RunningQuery

__all__ = ["operations_below"]

# Parent links of damaged telemetry may run in circles: UNION drops what was seen.
_BELOW = """
WITH RECURSIVE roots AS (
    SELECT span_key, trace_key, span_id FROM spans
    WHERE span_id IN (SELECT unhex(unnest(?::VARCHAR[]))) AND tenant = ?
      AND start_ns <= ? AND coalesce(end_ns, start_ns) >= ?
), nearby AS (
    SELECT span_key, trace_key, span_id, parent_id FROM spans
    WHERE trace_key IN (SELECT trace_key FROM roots)
), below AS (
    SELECT span_key, trace_key, span_id FROM roots
    UNION
    SELECT n.span_key, n.trace_key, n.span_id FROM nearby n
    JOIN below b ON n.trace_key = b.trace_key AND n.parent_id = b.span_id
)
SELECT span_key FROM below
UNION
SELECT same_as FROM settled_now
WHERE same_as IS NOT NULL AND trace_key IN (SELECT trace_key FROM roots)
  AND span_key IN (SELECT span_key FROM below)
"""


def operations_below(
    query: RunningQuery, spans: Sequence[str], tenant: str, between_ns: tuple[int, int]
) -> list[int]:
    """Keys of the spans, of all their descendants, and of the calls that these are views of.

    Args:
        query: To run on. spans: Ids in hex. tenant: Whose.
        between_ns: The spans themselves overlap this time; what is below them need not.
    """
    since, until = between_ns
    return sorted(key for (key,) in query.rows(_BELOW, [list(spans), tenant, until, since]))
