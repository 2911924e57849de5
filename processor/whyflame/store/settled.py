"""Writing what settling found: one generation of rows for every trace of a group."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from whyflame.store.duck import append, transaction
from whyflame.store.marks import mark_tuple
from whyflame.store.settled_columns import SettledColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.model import Operation
    from whyflame.store.duck import Store
    from whyflame.store.marks import MarkRow
    from whyflame.store.unsettled import Group

__all__ = ["SettledWriter"]

NOT_AGENT_WORK = "not_agent_work"
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
        self._paths = store.paths
        self._columns = SettledColumns(store.strings, store.paths)
        ((newest,),) = self._cursor.execute(
            "SELECT coalesce(max(generation), 0) FROM generations"
        ).fetchall()
        self._generation = int(newest)

    @property
    def generation(self) -> int:
        """The newest generation; it grows with every group written."""
        return self._generation

    def write(
        self,
        group: Group,
        operations: Sequence[Operation],
        marks: Sequence[MarkRow],
        now_ns: int,
    ) -> int:
        """Append one generation for the traces of a group; drop traces without agent work.

        Returns:
            How many spans were dropped because their trace holds no agent work.
        """
        generation = self._generation + 1
        # A trace may hold nothing but second views of calls counted elsewhere; it is work all the same.
        working = {op.span.trace_key for op in operations if op.why != NOT_AGENT_WORK}
        dropped = [key for key in group.trace_keys if key not in working]
        strings, paths = self._store.strings, self._paths
        try:
            last = _last_keys(group, operations)
            written = [op for op in operations if op.why != NOT_AGENT_WORK]
            with self._new_rows(written, generation) as insert, transaction(self._cursor):
                insert()
                append(
                    self._cursor,
                    "generations",
                    [(key, generation, now_ns, last.get(key, -1)) for key in group.trace_keys],
                )
                append(
                    self._cursor,
                    "marks",
                    [mark_tuple(self._store, mark, generation, now_ns) for mark in marks],
                )
                count = self._drop(dropped)
                strings.flush(self._cursor)
                paths.flush(self._cursor)
        except BaseException:
            strings.forget()
            paths.forget()
            self._columns.forget()
            raise
        strings.confirm()
        paths.confirm()
        self._generation = generation
        return count

    @contextmanager
    def _new_rows(
        self, operations: Sequence[Operation], generation: int
    ) -> Iterator[Callable[[], object]]:
        """How to insert the rows, inside a transaction; their columns are shown to DuckDB before."""
        if not operations:
            yield lambda: None
            return
        columns = self._columns.of(operations, generation)
        selected = "*"
        if any(op.span.extra for op in operations):
            columns["extra_keys"] = _objects([list(op.span.extra) for op in operations])
            columns["extra_values"] = _objects([list(op.span.extra.values()) for op in operations])
            selected = (
                "* EXCLUDE (extra_keys, extra_values), CASE WHEN len(extra_keys) > 0 "
                "THEN map(extra_keys, extra_values) END AS extra"
            )
        self._cursor.register(_NEW, columns)
        try:
            yield partial(
                self._cursor.execute, f"INSERT INTO settled BY NAME SELECT {selected} FROM {_NEW}"
            )
        finally:
            # After a fatal error nothing can be taken back, and that error is what counts.
            with suppress(duckdb.Error):
                self._cursor.unregister(_NEW)

    def _drop(self, keys: list[int]) -> int:
        if not keys:
            return 0
        among = "FROM spans WHERE trace_key IN (SELECT unnest(?::BIGINT[]))"
        counts = self._cursor.execute(
            f"SELECT tenant, count(*) {among} GROUP BY tenant ORDER BY tenant", [keys]
        ).fetchall()
        if counts:
            self._cursor.execute(f"DELETE {among}", [keys])
        rows = [("dropped_spans", NOT_AGENT_WORK, count, tenant) for tenant, count in counts]
        append(self._cursor, "counters", rows)
        return sum(count for _, count in counts)


def _objects(values: list[list[str]]) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _last_keys(group: Group, operations: Sequence[Operation]) -> dict[int, int]:
    """Newest span key seen for each trace, so that a restart knows what is still unsettled."""
    last: dict[int, int] = {}
    for span in group.spans or [operation.span for operation in operations]:
        if span.span_key > last.get(span.trace_key, -1):
            last[span.trace_key] = span.span_key
    return last
