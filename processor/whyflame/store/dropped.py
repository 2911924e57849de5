"""Dropping the spans of traces without agent work, each counted once however often it comes.

A trace that was dropped leaves its ids behind: the same file imported again, or a request repeated
after a restart, is stored, found to be no work, and dropped again without being counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whyflame.store.duck import append
from whyflame.store.passed import NOT_AGENT_WORK

if TYPE_CHECKING:
    import duckdb

    from whyflame.store.passed import Passed

__all__ = ["Dropped", "drop_spans"]

# Not what arrived since the pass read its trace: that is settled next, and may be work.
_GONE = (
    "(SELECT s.tenant, s.trace_key, s.span_id, s.span_key FROM spans s JOIN "
    "(SELECT unnest($1::BIGINT[]) AS trace_key, unnest($2::BIGINT[]) AS last) "
    "USING (trace_key) WHERE s.span_key <= last)"
)
_NEW = (
    f"(SELECT DISTINCT tenant, trace_key, span_id FROM {_GONE} "
    "ANTI JOIN dropped USING (trace_key, span_id))"
)


class Dropped(NamedTuple):
    """Spans that were dropped for the first time, and `again`."""

    new: int = 0
    again: int = 0


def drop_spans(cursor: duckdb.DuckDBPyConnection, passed: Passed) -> Dropped:
    """Delete what a pass found to be no agent work; inside the transaction of that pass."""
    asked = [passed.dropped, [passed.last_keys.get(key, -1) for key in passed.dropped]]
    run = cursor.execute
    spans = run(f"SELECT count(DISTINCT (trace_key, span_id)) FROM {_GONE}", asked).fetchall()[0][0]
    if not spans:
        return Dropped()
    counts = run(
        f"SELECT tenant, count(*) FROM {_NEW} GROUP BY tenant ORDER BY tenant", asked
    ).fetchall()
    run(f"INSERT INTO dropped SELECT trace_key, span_id FROM {_NEW}", asked)
    run(f"DELETE FROM spans WHERE span_key IN (SELECT span_key FROM {_GONE})", asked)
    rows = [("dropped_spans", NOT_AGENT_WORK, count, tenant) for tenant, count in counts]
    append(cursor, "counters", rows)
    new = sum(count for _, count in counts)
    return Dropped(new, spans - new)
