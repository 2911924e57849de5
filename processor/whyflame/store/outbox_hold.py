"""Which operations a batch leaves for later: those of runs that go on, while their path may move.

No backend can be corrected, and what was exported keeps its path (`segment.keeping`), so it should be
a path worth keeping. An operation of such a run waits until the newest generations agree on its path,
until the run is over, or for a bounded time; nothing waits for ever. Works on `export_batch`
(`outbox_batch`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["AGREEING", "NOTHING_HELD", "Held", "HoldRule", "hold_back"]

AGREEING = 5
"""Generations in a row that must give an operation the same path while its run goes on."""

# Parents seldom arrive so many spans before their first child that counts; where they do, the run
# only waits longer.
_PARENT_SLACK = 200_000
# Looking again at all that waits has a price, and many runs may be due one after the other.
_LOOK_AGAIN_NS = 10_000_000_000


@dataclass(frozen=True, slots=True)
class HoldRule:
    """When operations of runs that go on are exported.

    Attributes:
        hold_ns: At the latest so long after receipt; 0 exports everything at once.
        idle_ns: A run is over when nothing arrived for so long.
        patience_ns: The same for a run with a span whose parent has not arrived.
    """

    hold_ns: int = 0
    idle_ns: int = 0
    patience_ns: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """What an earlier batch left for later.

    Attributes:
        traces: Their keys. generation: The oldest current generation among them.
        due_ns: When to look again at them even if nothing arrives.
    """

    traces: tuple[int, ...] = ()
    generation: int = 0
    due_ns: int = 0

    def joined(self, other: Held) -> Held:
        """Both, as far as they hold anything."""
        if not (self.traces and other.traces):
            return self if self.traces else other
        return Held(
            tuple(sorted({*self.traces, *other.traces})),
            min(self.generation, other.generation),
            min(self.due_ns, other.due_ns),
        )


NOTHING_HELD = Held()

# Traces of the batch with the run they belong to, when they grew last, and whether a span of theirs
# names a parent that is not there: the parent of a step ends, and arrives, after the step.
_RUNS = """
CREATE OR REPLACE TEMP TABLE export_runs AS
WITH seen AS (
    SELECT trace_key, tenant, session, run, max(generation) AS generation FROM export_batch
    GROUP BY ALL
), keys AS (
    SELECT DISTINCT trace_key FROM seen
), named AS (
    SELECT trace_key, span_id, parent_id, origin FROM spans
    WHERE trace_key IN (SELECT trace_key FROM keys)
    AND span_key >= (SELECT min(span_key) FROM export_batch) - $slack
), orphans AS (
    SELECT DISTINCT c.trace_key FROM named c JOIN origins o ON o.origin = c.origin
    ANTI JOIN named p ON p.trace_key = c.trace_key AND p.span_id = c.parent_id
    WHERE o.signal = 'span' AND octet_length(c.parent_id) > 0
), last AS (
    SELECT s.trace_key, s.tenant, s.session, s.run, max(g.last_span_key) AS span_key
    FROM seen s JOIN generations g USING (trace_key, generation) GROUP BY ALL
)
SELECT l.tenant, l.session, l.run, max(n.received_ns)
    + CASE WHEN bool_or(o.trace_key IS NOT NULL) THEN $patience ELSE $idle END AS over_ns
FROM last l LEFT JOIN orphans o USING (trace_key)
LEFT JOIN (SELECT span_key, received_ns FROM spans
    WHERE span_key IN (SELECT span_key FROM last)) n ON n.span_key = l.span_key
GROUP BY ALL HAVING over_ns > $now
"""

_HELD = """
CREATE OR REPLACE TEMP TABLE export_held AS
WITH open AS (
    SELECT b.span_key, b.trace_key, b.generation, n.received_ns, r.over_ns
    FROM export_batch b JOIN export_runs r USING (tenant, session, run)
    JOIN spans n ON n.span_key = b.span_key
    WHERE n.received_ns > $recent AND n.received_ns <= $now
), versions AS (
    SELECT s.span_key, s.path_id,
        row_number() OVER (PARTITION BY s.span_key ORDER BY s.generation DESC) AS age
    FROM settled s WHERE s.span_key IN (SELECT span_key FROM open) AND s.generation <= $upto
    AND s.span_key BETWEEN (SELECT min(span_key) FROM open) AND (SELECT max(span_key) FROM open)
), stable AS (
    SELECT span_key FROM versions WHERE age <= $agreeing GROUP BY span_key
    HAVING count(*) = $agreeing AND min(path_id) = max(path_id)
)
SELECT span_key, trace_key, generation, least(received_ns + $hold, over_ns) AS due_ns
FROM open ANTI JOIN stable USING (span_key)
"""


def hold_back(
    cursor: duckdb.DuckDBPyConnection, rule: HoldRule, upto: int, now_ns: int, exporter: str
) -> Held:
    """Take operations that should wait out of `export_batch`; already exported ones as well.

    Args:
        cursor: Inside the transaction of the batch.
        rule: How long, and when a run is over.
        upto: The newest generation of the batch.
        now_ns: Now.
        exporter: Whose marks tell what was exported.
    """
    if rule.hold_ns:
        idle = {"idle": rule.idle_ns, "patience": rule.patience_ns}
        # It looks at all operations of the runs, so it goes before any are taken out.
        cursor.execute(_RUNS, {"now": now_ns, "slack": _PARENT_SLACK, **idle})
    cursor.execute(
        "DELETE FROM export_batch WHERE span_key IN (SELECT span_key FROM exported "
        "WHERE exporter = ? AND span_key BETWEEN (SELECT min(span_key) FROM export_batch) "
        "AND (SELECT max(span_key) FROM export_batch))",
        [exporter],
    )
    if not rule.hold_ns or not _count(cursor, "export_runs"):
        return NOTHING_HELD
    cursor.execute(
        _HELD,
        {
            "recent": now_ns - rule.hold_ns,
            "now": now_ns,  # received later: the clock was put back, and nobody knows for how long
            "upto": upto,
            "agreeing": AGREEING,
            "hold": rule.hold_ns,
        },
    )
    if not _count(cursor, "export_held"):
        return NOTHING_HELD
    cursor.execute("DELETE FROM export_batch WHERE span_key IN (SELECT span_key FROM export_held)")
    rows = cursor.execute(
        "SELECT list(DISTINCT trace_key), min(generation), min(due_ns) FROM export_held"
    ).fetchall()
    traces, generation, due_ns = rows[0]
    return Held(tuple(sorted(traces)), generation, max(due_ns, now_ns + _LOOK_AGAIN_NS))


def _count(cursor: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(cursor.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
