"""Giving space back: superseded generations, and traces past the configured age or size.

Deleted rows free their blocks at the next checkpoint; DuckDB writes new rows into free blocks, so
the file stops growing at its high-water mark (shown by a test). Whole traces go at once: a session
that is still written to keeps its recent traces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.store.duck import transaction
from whyflame.store.unused import Unused

if TYPE_CHECKING:
    import duckdb

    from whyflame.store.duck import Store

__all__ = ["Retention", "Swept"]

# Tables with rows of single traces.
_TABLES = ("spans", "settled", "generations", "traces_seen", "dropped", "traces")
# How much of the traces goes in one step when the store is too large.
_STEP = 0.1
_MAX_STEPS = 8


@dataclass(slots=True)
class Swept:
    """What one pass removed; `names` are strings and paths that nothing refers to."""

    superseded_rows: int = 0
    traces: int = 0
    names: int = 0


class Retention:
    """Removes what is no longer asked for; used by the settle job's thread.

    Args:
        store: The open store.
        max_age_ns: Traces that ended longer ago go; 0 keeps all.
        max_bytes: While the store uses more, the oldest traces go; 0 sets no limit.
    """

    def __init__(self, store: Store, *, max_age_ns: int = 0, max_bytes: int = 0) -> None:
        self._store = store
        self._cursor = store.cursor()
        self._max_age_ns = max_age_ns
        self._max_bytes = max_bytes
        self._unused = Unused(store)

    def sweep(self, now_ns: int) -> Swept:
        """One pass; checkpoints when something was removed."""
        swept = Swept(superseded_rows=self._drop_superseded())
        if self._max_age_ns:
            swept.traces += self._drop_ended_before(now_ns - self._max_age_ns)
        steps = 0
        while self._max_bytes and steps < _MAX_STEPS and self.used_bytes() > self._max_bytes:
            dropped = self._drop_oldest()
            if not dropped:
                break
            swept.traces += dropped
            steps += 1
            self._store.checkpoint()
        swept.names = self._unused.drop()
        if swept.superseded_rows or swept.traces or swept.names:
            self._store.checkpoint()
        return swept

    def used_bytes(self) -> int:
        """Bytes of blocks that hold data, without free ones."""
        row = self._cursor.execute(
            "SELECT used_blocks * block_size FROM pragma_database_size() LIMIT 1"
        ).fetchone()
        return int(row[0]) if row else 0

    def _drop_superseded(self) -> int:
        """Rows of generations that are not the newest, and spans that a richer one replaced."""
        with transaction(self._cursor):
            rows = _deleted(
                self._cursor,
                "DELETE FROM settled WHERE generation < (SELECT g.generation FROM "
                "current_generation g WHERE g.trace_key = settled.trace_key)",
            )
            self._unused.note_gone(rows)
            rows += _deleted(
                self._cursor,
                "DELETE FROM generations WHERE generation < (SELECT g.generation FROM "
                "current_generation g WHERE g.trace_key = generations.trace_key)",
            )
            rows += _deleted(
                self._cursor,
                "DELETE FROM spans WHERE span_key IN (SELECT span_key FROM superseded)",
            )
            self._cursor.execute("DELETE FROM superseded")
        return rows

    def _drop_ended_before(self, cutoff_ns: int) -> int:
        keys = self._cursor.execute(
            "SELECT trace_key FROM traces_seen GROUP BY trace_key HAVING max(end_ns) < ?",
            [cutoff_ns],
        ).fetchall()
        return self._drop([row[0] for row in keys])

    def _drop_oldest(self) -> int:
        keys = self._cursor.execute(
            "SELECT trace_key FROM traces_seen GROUP BY trace_key ORDER BY max(end_ns), trace_key"
        ).fetchall()
        return self._drop([row[0] for row in keys[: max(1, int(len(keys) * _STEP))]])

    def _drop(self, keys: list[int]) -> int:
        if not keys:
            return 0
        with transaction(self._cursor):
            self._cursor.execute(
                "DELETE FROM exported WHERE span_key IN (SELECT span_key FROM spans "
                "WHERE trace_key IN (SELECT unnest(?::BIGINT[])))",
                [keys],
            )
            for table in _TABLES:
                rows = _deleted(
                    self._cursor,
                    f"DELETE FROM {table} WHERE trace_key IN (SELECT unnest(?::BIGINT[]))",
                    [keys],
                )
                if table == "settled":
                    self._unused.note_gone(rows)
            self._cursor.execute(
                "DELETE FROM marks WHERE (tenant, session) NOT IN "
                "(SELECT DISTINCT tenant, session FROM settled WHERE session IS NOT NULL)"
            )
        return len(keys)


def _deleted(
    cursor: duckdb.DuckDBPyConnection, statement: str, parameters: list[object] | None = None
) -> int:
    row = cursor.execute(statement, parameters or []).fetchone()
    return int(row[0]) if row else 0
