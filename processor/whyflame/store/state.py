"""Answers that hold while the store does: what tells that nothing changed.

Rows of `spans`, `settled` and `generations` are only ever added with a larger key than any before,
or removed; while a store is open and its writers are the same, no key is given twice. So where the
largest key and the number of rows are what they were, the rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from whyflame.store.kept import State
    from whyflame.store.readable import Cursor, Readable

__all__ = ["remembered", "state_of"]

_T = TypeVar("_T")
_TABLES = {"spans": "span_key", "settled": "generation", "generations": "generation"}
_STATE = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM {table}), (SELECT coalesce(max({key}), -1) FROM {table})"
    for table, key in _TABLES.items()
)


def state_of(cursor: Cursor) -> State:
    """What the store holds now; DuckDB knows it without reading rows."""
    return tuple(int(number) for number in cursor.execute(_STATE).fetchall()[0])


def remembered(
    store: Readable,
    question: Hashable,
    find: Callable[[], _T],
    is_small: Callable[[_T], bool] = lambda _: True,
) -> _T:
    """See `Kept.answer`."""
    cursor = store.cursor()
    return store.kept.answer(question, lambda: state_of(cursor), find, is_small)
