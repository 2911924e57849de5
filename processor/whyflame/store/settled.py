"""Writing what settling found: one generation of rows for every trace of a group."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from whyflame.store.dropped import Dropped, drop_spans
from whyflame.store.duck import append, transaction
from whyflame.store.marks import mark_tuple
from whyflame.store.settled_columns import CODED, Columns, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whyflame.store.dictionary import Dictionary
    from whyflame.store.duck import Store
    from whyflame.store.passed import Passed

__all__ = ["SettledWriter"]

_NEW = "new_settled"


class SettledWriter:
    """The one writer of `settled`, `generations`, `marks` and the dictionaries; one thread.

    Args:
        store: The open store.
    """

    def __init__(self, store: Store) -> None:
        store.kept.clear()
        self._store = store
        self._cursor = store.cursor()
        ((newest,),) = self._cursor.execute(
            "SELECT coalesce(max(generation), 0) FROM generations"
        ).fetchall()
        self._generation = int(newest)

    @property
    def generation(self) -> int:
        """The newest generation; it grows with every group written."""
        return self._generation

    def write_passed(self, passed: Passed, now_ns: int) -> Dropped:
        """Append one generation for the traces of a pass; drop traces without agent work.

        Returns:
            The spans that were dropped because their trace holds no agent work.
        """
        generation = self._generation + 1
        strings, paths = self._store.strings, self._store.paths
        strings.look_up(passed.all_strings())
        paths.look_up(passed.all_paths())
        try:
            with self._new_rows(passed, generation) as insert, transaction(self._cursor):
                insert()
                append(
                    self._cursor,
                    "generations",
                    [
                        (key, generation, now_ns, passed.last_keys.get(key, -1))
                        for key in passed.trace_keys
                    ],
                )
                append(
                    self._cursor,
                    "marks",
                    [mark_tuple(self._store, mark, generation, now_ns) for mark in passed.marks],
                )
                dropped = drop_spans(self._cursor, passed) if passed.dropped else Dropped()
                strings.flush(self._cursor)
                paths.flush(self._cursor)
        except BaseException:
            strings.forget()
            paths.forget()
            raise
        strings.confirm()
        paths.confirm()
        self._generation = generation
        return dropped

    @contextmanager
    def _new_rows(self, passed: Passed, generation: int) -> Iterator[Callable[[], object]]:
        """How to insert the rows, inside a transaction; their columns are shown to DuckDB before."""
        if not passed.columns:
            yield lambda: None
            return
        selected = "*"
        if passed.has_extra:
            selected = (
                "* EXCLUDE (extra_keys, extra_values), CASE WHEN extra_keys[1] <> '' "
                "THEN map(extra_keys, extra_values) END AS extra"
            )
        self._cursor.register(_NEW, self._stored_columns(passed, generation))
        try:
            yield partial(
                self._cursor.execute, f"INSERT INTO settled BY NAME SELECT {selected} FROM {_NEW}"
            )
        finally:
            # After a fatal error nothing can be taken back, and that error is what counts.
            with suppress(duckdb.Error):
                self._cursor.unregister(_NEW)

    def _stored_columns(self, passed: Passed, generation: int) -> Columns:
        """With the ids of the store; new strings and paths get some."""
        columns = passed.columns
        return {
            **columns,
            "generation": np.full(len(columns["span_key"]), generation),
            **renumbered(columns, CODED, _ids(self._store.strings, passed.strings)),
            **renumbered(columns, ("path_id",), _ids(self._store.paths, passed.paths)),
        }


def _ids(dictionary: Dictionary, values: Sequence[str] | Sequence[tuple[str, ...]]) -> list[int]:
    return [number for value in values if (number := dictionary.code(value)) is not None]
