"""Running compiled projections: SQL in, profile out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.fold import fold_columns, fold_rows, is_numpy_worth_it
from whyflame.fold.projection import compile_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whyflame.fold.profile import Profile
    from whyflame.fold.projection import Projection
    from whyflame.store.readable import Cursor, Readable
    from whyflame.store.running import RunningQuery

__all__ = ["DictionaryTables", "fold_projection", "fold_running"]


class DictionaryTables:
    """`strings` and `paths`, read for the ids of one result only: a cold command loads no more.

    Args:
        cursor: Of the asking thread.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def strings(self, ids: Iterable[int]) -> Mapping[int, str]:
        """Values of `strings` by id."""
        return dict(
            self._cursor.execute(
                "SELECT id, value FROM strings WHERE id IN (SELECT unnest(?::INTEGER[]))",
                [list(ids)],
            ).fetchall()
        )

    def paths(self, ids: Iterable[int]) -> Mapping[int, Sequence[str]]:
        """Names of `paths` by id, outermost first."""
        return dict(
            self._cursor.execute(
                "SELECT id, names FROM paths WHERE id IN (SELECT unnest(?::INTEGER[]))",
                [list(ids)],
            ).fetchall()
        )


def fold_projection(store: Readable, projection: Projection) -> Profile:
    """The profile of a projection over what is settled now."""
    query = compile_query(projection)
    cursor = store.cursor()
    bounds = cursor.execute(query.bounds_sql, list(query.bounds_params)).fetchone()
    start, end, count = bounds or (None, None, 0)
    dictionary = DictionaryTables(cursor)
    result = cursor.execute(query.sql, list(query.params))
    if is_numpy_worth_it(count):
        columns = list(result.fetchnumpy().values())
        return fold_columns(query, columns, dictionary, (start, end))
    return fold_rows(query, result.fetchall(), dictionary, (start, end))


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
