"""Removing everything that belongs to a session or a user from the tables of a store.

Rows go in one transaction; `rewrite_database` removes the bytes afterwards. Payloads in the outbox
that may hold what is forgotten are dropped. Where no payload of their batch was sent yet, its other
operations are exported anew; else these stay unsent, which the result says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.store.duck import transaction
from whyflame.store.unused import delete_unused

if TYPE_CHECKING:
    import duckdb

    from whyflame.store.duck import Store

__all__ = ["Removed", "forget_traces", "sessions_of", "traces_of_session", "traces_of_user"]

_FALLBACK = "trace:"
_AMONG = "(SELECT trace_key FROM forgotten_traces)"
_SPANS = "(SELECT span_key FROM forgotten_spans)"


@dataclass(slots=True)
class Removed:
    """What was removed.

    Attributes:
        traces, spans: Rows. payloads: Payloads of the outbox.
        unsent: Operations of others that were in these payloads and are not exported again.
        trace_ids: Ids of the traces, to find them in the journal.
        names: Session ids that occurred in them.
    """

    traces: int = 0
    spans: int = 0
    payloads: int = 0
    unsent: int = 0
    trace_ids: frozenset[bytes] = frozenset()
    names: set[str] = field(default_factory=set)


def traces_of_session(cursor: duckdb.DuckDBPyConnection, session: str, tenant: str) -> set[int]:
    """Keys of traces that say they belong to a session, or that were settled into it."""
    rows = cursor.execute(
        "SELECT trace_key FROM traces_seen WHERE session = $1 AND tenant = $2 UNION "
        "SELECT trace_key FROM spans WHERE (session = $1 OR conversation = $1) AND tenant = $2 "
        "UNION SELECT trace_key FROM settled WHERE "
        "session = (SELECT id FROM strings WHERE value = $1) AND "
        "tenant = (SELECT id FROM strings WHERE value = $2)",
        [session, tenant],
    ).fetchall()
    return {row[0] for row in rows}


def traces_of_user(cursor: duckdb.DuckDBPyConnection, user_hash: str, tenant: str) -> set[int]:
    """Keys of traces with a span of the user, and of all others in the same sessions."""
    rows = cursor.execute(
        "SELECT trace_key FROM spans WHERE user_hash = $1 AND tenant = $2 UNION "
        "SELECT trace_key FROM settled WHERE "
        "user_hash = (SELECT id FROM strings WHERE value = $1) AND "
        "tenant = (SELECT id FROM strings WHERE value = $2)",
        [user_hash, tenant],
    ).fetchall()
    keys = {row[0] for row in rows}
    for session in sorted(sessions_of(cursor, keys)):
        keys |= traces_of_session(cursor, session, tenant)
    return keys


def sessions_of(cursor: duckdb.DuckDBPyConnection, keys: set[int]) -> set[str]:
    """Session ids that occur in these traces."""
    rows = cursor.execute(
        "WITH mine AS (SELECT unnest(?::BIGINT[]) AS trace_key) "
        "SELECT session FROM spans SEMI JOIN mine USING (trace_key) UNION "
        "SELECT conversation FROM spans SEMI JOIN mine USING (trace_key) UNION "
        "SELECT t.value FROM settled s SEMI JOIN mine USING (trace_key) "
        "JOIN strings t ON t.id = s.session",
        [sorted(keys)],
    ).fetchall()
    return {row[0] for row in rows if row[0] and not row[0].startswith(_FALLBACK)}


def forget_traces(store: Store, keys: set[int], tenant: str) -> Removed:
    """Delete all rows of these traces, and strings that no row uses any more.

    The store's dictionaries in memory and its `SpanWriter` are stale afterwards: close the store.
    """
    cursor = store.cursor()
    removed = Removed(names=sessions_of(cursor, keys))
    with transaction(cursor):
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE forgotten_traces AS "
            "SELECT unnest(?::BIGINT[]) AS trace_key",
            [sorted(keys)],
        )
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE forgotten_spans AS SELECT span_key FROM spans "
            f"WHERE trace_key IN {_AMONG} UNION SELECT span_key FROM settled "
            f"WHERE trace_key IN {_AMONG}"
        )
        ids = cursor.execute(f"SELECT trace_id FROM traces WHERE trace_key IN {_AMONG}").fetchall()
        removed.trace_ids = frozenset(bytes(row[0]) for row in ids)
        removed.traces = len(keys)
        _forget_exports(cursor, tenant, removed)
        _forget_marks(cursor)
        removed.spans = _count(cursor, f"DELETE FROM spans WHERE trace_key IN {_AMONG}")
        for table in ("settled", "generations", "traces_seen", "dropped", "traces"):
            cursor.execute(f"DELETE FROM {table} WHERE trace_key IN {_AMONG}")
        cursor.execute(
            f"DELETE FROM superseded WHERE span_key IN {_SPANS} OR by_span_key IN {_SPANS}"
        )
        # An origin names services, agents and tools; it goes with the last span that has it.
        cursor.execute("DELETE FROM origins WHERE origin NOT IN (SELECT origin FROM spans)")
        delete_unused(cursor)
        _forget_carries(cursor)
    return removed


def _forget_exports(cursor: duckdb.DuckDBPyConnection, tenant: str, removed: Removed) -> None:
    """Export marks of the spans, and payloads that may have been made of them."""
    batches = cursor.execute(
        "SELECT DISTINCT exporter, batch FROM exported "
        f"WHERE span_key IN {_SPANS} AND batch IS NOT NULL ORDER BY ALL"
    ).fetchall()
    for exporter, batch in batches:
        _drop_batch(cursor, exporter, batch, tenant, removed)
    cursor.execute(f"DELETE FROM exported WHERE span_key IN {_SPANS}")


def _drop_batch(
    cursor: duckdb.DuckDBPyConnection, exporter: str, batch: int, tenant: str, removed: Removed
) -> None:
    # Payloads that were split or stamped anew carry a later batch that no mark names: whatever
    # cannot be told apart goes.
    doubtful = (
        "FROM outbox WHERE exporter = $1 AND tenant = $3 AND (batch = $2 OR NOT EXISTS "
        "(SELECT 1 FROM exported e WHERE e.exporter = $1 AND e.batch = outbox.batch))"
    )
    next_batch = "(SELECT min(batch) FROM exported WHERE exporter = $1 AND batch > $2)"
    finished = cursor.execute(
        "SELECT count(*) FROM outbox_done WHERE exporter = $1 AND id >= $2 "
        f"AND id < coalesce({next_batch}, {1 << 62})",
        [exporter, batch],
    ).fetchall()[0][0]
    waiting = cursor.execute(
        f"SELECT count(*) {doubtful} AND id NOT IN "
        "(SELECT id FROM outbox_done WHERE state <> 'attempted')",
        [exporter, batch, tenant],
    ).fetchall()[0][0]
    removed.payloads += _count(cursor, f"DELETE {doubtful}", [exporter, batch, tenant])
    if not waiting:
        return
    others = (
        "FROM exported WHERE exporter = $1 AND batch = $2 AND span_key IN "
        f"(SELECT span_key FROM spans WHERE tenant = $3 AND span_key NOT IN {_SPANS})"
    )
    if finished:
        row = cursor.execute(f"SELECT count(*) {others}", [exporter, batch, tenant]).fetchall()
        removed.unsent += row[0][0]
    else:
        cursor.execute(f"DELETE {others}", [exporter, batch, tenant])


def _forget_carries(cursor: duckdb.DuckDBPyConnection) -> None:
    """Remainders of cost of series with a name that occurs nowhere any more; less than 2 micro-USD each."""
    series = [row[0] for row in cursor.execute("SELECT DISTINCT series FROM carry").fetchall()]
    names = {
        text: {value for key, value in json.loads(text) if key != "__name__"} for text in series
    }
    wanted = sorted(set().union(*names.values()))
    found = cursor.execute(
        "SELECT value FROM strings WHERE value IN (SELECT unnest(?::VARCHAR[]))", [wanted]
    )
    known = {row[0] for row in found.fetchall()}
    gone = [text for text, values in names.items() if not values <= known]
    cursor.execute("DELETE FROM carry WHERE series IN (SELECT unnest(?::VARCHAR[]))", [gone])


def _forget_marks(cursor: duckdb.DuckDBPyConnection) -> None:
    """Marks of sessions of which nothing is left."""
    cursor.execute(
        "DELETE FROM marks WHERE (tenant, session) IN "
        f"(SELECT DISTINCT tenant, session FROM settled WHERE trace_key IN {_AMONG}) "
        "AND (tenant, session) NOT IN (SELECT DISTINCT tenant, session FROM settled "
        f"WHERE trace_key NOT IN {_AMONG} AND session IS NOT NULL)"
    )


def _count(
    cursor: duckdb.DuckDBPyConnection, statement: str, parameters: list[object] | None = None
) -> int:
    return int(cursor.execute(statement, parameters or []).fetchall()[0][0])
