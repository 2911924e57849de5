"""Spans whose parent never arrived, found once and then only among what is new.

A span of a trace that lost its parent keeps the state until the parent arrives: spans are only
removed with their whole trace, or for a richer arrival of the same span. So old orphans can only
become fewer, and new ones are among new spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyflame.fold.where import Fragment
    from whyflame.store.readable import Cursor, Readable

__all__ = ["count_orphans"]

# Beyond that, looking them up among the rows costs as much as looking for them.
_MAX_KEPT = 100_000

# So many spans are looked at together: their join fits into the processor's cache.
_STEP = 1 << 19

_EXTENT = "SELECT coalesce(min(span_key), 0), coalesce(max(span_key), -1) FROM spans"
_NEW_KEYS = "span_key > {since} AND span_key <= {until}"
_ARRIVED = f"{_NEW_KEYS} AND parent_id IS NOT NULL"
# Siblings ask for the same parent: it is looked for once, and the search is by the shorter side.
_MISSING = (
    f"(SELECT DISTINCT trace_key, parent_id AS span_id FROM spans WHERE {_ARRIVED}) "
    "ANTI JOIN (SELECT trace_key, span_id FROM spans "
    "WHERE trace_key BETWEEN {first} AND {last}) USING (trace_key, span_id)"
)
_TRACES = f"SELECT min(trace_key), max(trace_key) FROM spans WHERE {_NEW_KEYS}"
_HAS_NEW = f"SELECT count(*) FROM {_MISSING}"
_NEW = f"""
SELECT list(span_key) FROM (SELECT s.span_key FROM (SELECT * FROM spans WHERE {_ARRIVED}) s
    JOIN (SELECT * FROM {_MISSING}) m ON s.trace_key = m.trace_key AND s.parent_id = m.span_id
    LIMIT {_MAX_KEPT + 1})
"""
_STILL = """
SELECT list(s.span_key) FROM spans s SEMI JOIN (SELECT unnest(?::BIGINT[]) AS span_key) k
    USING (span_key) ANTI JOIN (SELECT trace_key, span_id FROM spans WHERE span_key > {since}) p
    ON p.trace_key = s.trace_key AND p.span_id = s.parent_id
"""
_PLAIN = """
SELECT count(*) FROM {base} o JOIN spans s USING (span_key) WHERE s.parent_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM spans p
        WHERE p.trace_key = s.trace_key AND p.span_id = s.parent_id)
"""
_AMONG = """
SELECT count(*) FROM {base} o JOIN spans s USING (span_key)
    WHERE span_key IN (SELECT unnest(?::BIGINT[]))
"""


def count_orphans(store: Readable, cursor: Cursor, condition: Fragment) -> int:
    """How many of the settled rows stand for a span whose parent is not in its trace.

    Args:
        store: The open store. cursor: To run on. condition: SQL over `settled_now`.
    """
    base = f"(SELECT span_key FROM settled_now{condition.sql})"
    params: list[Any] = list(condition.params)
    orphans = _refreshed(store, cursor)
    if orphans is None:
        return int(cursor.execute(_PLAIN.format(base=base), params).fetchall()[0][0])
    if not orphans:
        return 0
    rows = cursor.execute(_AMONG.format(base=base), [*params, list(orphans)]).fetchall()
    return int(rows[0][0])


def _refreshed(store: Readable, cursor: Cursor) -> tuple[int, ...] | None:
    """Keys of all orphans; None where they are too many to be kept."""
    since, known = store.kept.orphans
    if known is None:
        return None
    oldest, until = cursor.execute(_EXTENT).fetchall()[0]
    if until < since:
        since, known = -1, ()
    if until > since:
        new: list[int] = []
        for begin in range(max(since, oldest - 1), until, _STEP):
            if len(new) <= _MAX_KEPT:
                new += _arrived(cursor, begin, min(begin + _STEP, until))
        if known:
            still = _STILL.format(since=since)
            known = cursor.execute(still, [list(known)]).fetchall()[0][0] or ()
        known = (*known, *new)
        store.kept.orphans = (until, known if len(known) <= _MAX_KEPT else None)
    return known if len(known) <= _MAX_KEPT else None


def _arrived(cursor: Cursor, since: int, until: int) -> list[int]:
    """Keys of orphans among these spans; one more than are kept when there are too many."""
    span_keys = {"since": since, "until": until}
    first, last = cursor.execute(_TRACES.format(**span_keys)).fetchall()[0]
    if first is None:
        return []
    among = {**span_keys, "first": first, "last": last}
    if not cursor.execute(_HAS_NEW.format(**among)).fetchall()[0][0]:
        return []
    return list(cursor.execute(_NEW.format(**among)).fetchall()[0][0] or ())
