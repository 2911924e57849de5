"""Running compiled projections: SQL in, profile out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.fold.fold import fold_columns, fold_rows, is_numpy_worth_it
from whyflame.fold.projection import compile_query

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whyflame.fold.profile import Profile
    from whyflame.fold.projection import Projection
    from whyflame.store.dictionary import Dictionary
    from whyflame.store.readable import Cursor, Readable
    from whyflame.store.running import RunningQuery

__all__ = ["DictionaryTables", "fold_projection", "fold_running"]

_DENSE, _FEW = 2, 1000
# Up to here a statement costs more than its rows; beyond, times by group cost more than a statement.
_ONE_STATEMENT = 100_000


class DictionaryTables:
    """`strings` and `paths`: from memory where a store has them there, else read for these ids only.

    Args:
        store: The open store.
        cursor: Of the asking thread.
    """

    def __init__(self, store: Readable, cursor: Cursor) -> None:
        self._store = store
        self._cursor = cursor

    def strings(self, ids: Collection[int]) -> Mapping[int, str]:
        """Values of `strings` by id."""
        return self._values(self._store.strings, "SELECT id, value FROM strings", ids)

    def paths(self, ids: Collection[int]) -> Mapping[int, Sequence[str]]:
        """Names of `paths` by id, outermost first."""
        return self._values(self._store.paths, "SELECT id, names FROM paths", ids)

    def _values(self, table: Dictionary, select: str, ids: Collection[int]) -> dict[int, Any]:
        if not ids:
            return {}
        if table.is_loaded:
            return table.values(ids)
        low, high = min(ids), max(ids)
        if high - low < _DENSE * len(ids) + _FEW:
            # Twice as fast as handing over a list; some more rows come along.
            found = self._cursor.execute(f"{select} WHERE id BETWEEN ? AND ?", [low, high])
        else:
            found = self._cursor.execute(
                f"{select} WHERE id IN (SELECT unnest(?::INTEGER[]))", [list(ids)]
            )
        return dict(found.fetchall())


def fold_projection(store: Readable, projection: Projection) -> Profile:
    """The profile of a projection over what is settled now."""
    cursor = store.cursor()
    dictionary = DictionaryTables(store, cursor)
    query = compile_query(projection, timed=True)
    if query.is_timed and _settled_rows(store, cursor) <= _ONE_STATEMENT:
        result = cursor.execute(query.sql, list(query.params))
        if is_numpy_worth_it(0):
            return fold_columns(query, list(result.fetchnumpy().values()), dictionary)
        return fold_rows(query, result.fetchall(), dictionary)
    query = compile_query(projection)
    bounds = cursor.execute(query.bounds_sql, list(query.bounds_params)).fetchone()
    start, end, count = bounds or (None, None, 0)
    result = cursor.execute(query.sql, list(query.params))
    if is_numpy_worth_it(count):
        columns = list(result.fetchnumpy().values())
        return fold_columns(query, columns, dictionary, (start, end))
    return fold_rows(query, result.fetchall(), dictionary, (start, end))


def _settled_rows(store: Readable, cursor: Cursor) -> int:
    """Rows of the table, which DuckDB knows without reading it; asking takes it a millisecond."""

    def count() -> int:
        row = cursor.execute("SELECT count(*) FROM settled").fetchone()
        return int(row[0]) if row else 0

    return store.kept.lately("settled", count)


def fold_running(running: RunningQuery, projection: Projection, *, timed: bool = False) -> Profile:
    """As `fold_projection`, inside the bounds of a running question.

    Args:
        running: To run on, and where ids become strings. projection: What is asked.
        timed: Look up when the data begin and end, too; costs a second scan.
    """
    query = compile_query(projection)
    bounds = (None, None)
    if timed:
        ((start, end, _),) = running.rows(query.bounds_sql, query.bounds_params)
        bounds = (start, end)
    columns = running.columns(query.sql, query.params)
    profile = fold_columns(query, columns, running, bounds)
    running.check()
    return profile
