"""Entries of both dictionaries that no row refers to any more.

They are those of sessions that are gone and of names that were found anew. To tell them costs a
look at every coded column, about 0.15 s of one processor for each million operations, so it is
done when a share of all rows has gone since the last time, however often is swept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.store.duck import transaction
from whyflame.store.schema import CODED_COLUMNS

if TYPE_CHECKING:
    import duckdb

    from whyflame.store.duck import Store

__all__ = ["Unused", "delete_unused"]

_USED = {
    "strings": " UNION ALL ".join(
        [
            *(f"SELECT DISTINCT {name} AS id FROM settled" for name in CODED_COLUMNS),
            "SELECT DISTINCT lane_parent FROM settled",
            *(f"SELECT {name} FROM marks" for name in ("tenant", "session", "lane")),
        ]
    ),
    "paths": "SELECT DISTINCT path_id AS id FROM settled UNION ALL SELECT unnest(path_ids) FROM "
    "marks UNION ALL SELECT DISTINCT path_id FROM exported",
}
# Of the rows of `settled`: so many gone make it worth to look.
_SHARE = 10


def delete_unused(cursor: duckdb.DuckDBPyConnection) -> None:
    """Delete them all, in the caller's transaction; dictionaries in memory are stale afterwards."""
    for table, used in _USED.items():
        cursor.execute(
            f"DELETE FROM {table} USING ({_unused(table, used)}) u WHERE {table}.id = u.id"
        )


class Unused:
    """Deletes them beside questions; used by whoever may write `settled`.

    A question that began before rows were deleted may ask for what their ids mean. So only what
    was unused the last time as well is deleted: that was minutes ago.

    Args:
        store: The open store.
    """

    def __init__(self, store: Store) -> None:
        self._cursor = store.cursor()
        self._dictionaries = {"strings": store.strings, "paths": store.paths}
        self._gone = 0
        for table in _USED:
            self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE unused_{table} (id INTEGER)")

    def note_gone(self, rows: int) -> None:
        """So many rows of `settled` were deleted."""
        self._gone += rows

    def drop(self) -> int:
        """Delete what is unused now and was the last time, if it is worth to look; how many."""
        ((left,),) = self._cursor.execute("SELECT count(*) FROM settled").fetchall()
        if not self._gone or self._gone * _SHARE < left:
            return 0
        with transaction(self._cursor):
            deleted = {table: self._delete(table) for table in _USED}
        for table, ids in deleted.items():
            self._dictionaries[table].remove(ids)
        self._gone = 0
        return sum(map(len, deleted.values()))

    def _delete(self, table: str) -> list[int]:
        self._cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE unused_now AS {_unused(table, _USED[table])}"
        )
        deleted = self._cursor.execute(
            f"DELETE FROM {table} WHERE id IN "
            f"(SELECT id FROM unused_now SEMI JOIN unused_{table} USING (id)) RETURNING id"
        ).fetchall()
        self._cursor.execute(f"DELETE FROM unused_{table}")
        self._cursor.execute(f"INSERT INTO unused_{table} FROM unused_now")
        return [row[0] for row in deleted]


def _unused(table: str, used: str) -> str:
    return f"SELECT id FROM {table} ANTI JOIN ({used}) used USING (id)"
