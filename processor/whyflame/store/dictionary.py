"""Dictionary tables: a small integer for every string or path that repeats."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb


class Dictionary:
    """Value to id and back, held in memory, appended to its table by `flush`.

    Ids given out since the last flush are provisional: `flush` writes them inside the caller's
    transaction, `forget` takes them back when that transaction failed.

    Args:
        cursor: Used once, to load the table when first needed.
        table: `strings` or `paths`. column: Name of the value column.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, table: str, column: str) -> None:
        self._cursor = cursor
        self._table = table
        self._column = column
        self._written = 0
        self._lock = threading.RLock()

    @cached_property
    def _entries(self) -> tuple[dict[Any, int], list[Any]]:
        """Ids by value, and values by id. A cold command that never asks does not load them."""
        with self._lock:
            query = f"SELECT id, {self._column} FROM {self._table} ORDER BY id"
            rows = self._cursor.execute(query).fetchall()
            # What was forgotten leaves a gap.
            values: list[Any] = [None] * (rows[-1][0] + 1 if rows else 0)
            # Paths share their names: one string each takes less memory, and is compared faster.
            one: dict[str, str] = {}
            for number, value in rows:
                values[number] = (
                    tuple([one.setdefault(name, name) for name in value])
                    if isinstance(value, list)
                    else value
                )
            self._written = len(values)
            return {
                value: number for number, value in enumerate(values) if value is not None
            }, values

    @property
    def is_loaded(self) -> bool:
        """Whether a look-up costs no reading of the table."""
        return "_entries" in self.__dict__

    @property
    def _ids(self) -> dict[Any, int]:
        return self._entries[0]

    @property
    def _values(self) -> list[Any]:
        return self._entries[1]

    def code(self, value: str | tuple[str, ...] | None) -> int | None:
        """Id of a value, new when unseen; None stays None."""
        if value is None:
            return None
        identifier = self._ids.get(value)
        if identifier is None:
            with self._lock:
                identifier = self._ids.setdefault(value, len(self._values))
                if identifier == len(self._values):
                    self._values.append(value)
        return identifier

    def find(self, value: str | tuple[str, ...]) -> int | None:
        """Id of a value, None when it was never stored."""
        return self._ids.get(value)

    def find_written(self, value: str | tuple[str, ...]) -> int | None:
        """As `find`, None too while a failing transaction could still give the id to another value."""
        written = self._written if self.is_loaded else 0
        identifier = self.find(value)
        return identifier if identifier is not None and identifier < written else None

    def value(self, identifier: int | None) -> Any:
        """Value of an id; None stays None."""
        return None if identifier is None else self._values[identifier]

    def values(self, identifiers: Iterable[int]) -> dict[int, Any]:
        """Values by id, of many; those that were forgotten are left out."""
        values = self._values
        return {number: value for number in identifiers if (value := values[number]) is not None}

    def items(self) -> Iterable[tuple[int, Any]]:
        """All (id, value), in id order."""
        return enumerate(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def flush(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Append new entries; call inside the transaction that uses them, then `confirm`."""
        if not self.is_loaded:
            return
        rows = [
            (number, list(value) if isinstance(value, tuple) else value)
            for number, value in enumerate(self._values[self._written :], self._written)
        ]
        if rows:
            with cursor.appender(self._table) as appender:
                appender.append_rows(rows)

    def confirm(self) -> None:
        """The transaction that flushed has committed."""
        if not self.is_loaded:
            return
        self._written = len(self._values)

    def forget(self) -> None:
        """The transaction failed: unwritten ids are free again."""
        if not self.is_loaded:
            return
        for value in self._values[self._written :]:
            del self._ids[value]
        del self._values[self._written :]
