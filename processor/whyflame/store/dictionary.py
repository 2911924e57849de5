"""Dictionary tables: a small integer for every string or path that repeats.

Most values are those of sessions, which come once: the newest are held in memory, others are looked
up in the table when they are asked for. Of what is not held 8 bytes remain, which tell that a value
is new without reading a table of millions for it.
"""

from __future__ import annotations

import threading
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import duckdb

    from whyflame.store.left_out import Hashes, LeftOut

# In memory, at 150 to 250 bytes each.
MOST_VALUES = 100_000
_FIRST_SHARE = 100
# Read together where one is asked for: what stands beside it is often asked for next.
_BLOCK = 1_024
_CHUNK = 50_000


class Dictionary:
    """Value to id and back, partly held in memory, appended to its table by `flush`.

    Ids given out since the last flush are provisional: `flush` writes them inside the caller's
    transaction, `forget` takes them back when that transaction failed.

    Args:
        cursor: Of its own, used under a lock.
        table: `strings` or `paths`. column: Name of the value column.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, table: str, column: str) -> None:
        self._cursor = cursor
        self._table = table
        self._column = column
        self._type = "VARCHAR[]" if table == "strings" else "VARCHAR[][]"
        self._most = MOST_VALUES
        # The first ones are kinds, models, tools: they always stay.
        self._first = MOST_VALUES // _FIRST_SHARE
        self._size = 0
        self._written = 0
        # Paths share their names: one string each takes less memory, and is compared faster.
        self._names: dict[str, str] = {}
        # Of the values that are stored and not held; None while there are none.
        self._left_out: LeftOut | None = None
        # Values that are known to be new.
        self._new: set[Any] = set()
        self._lock = threading.RLock()

    @cached_property
    def _entries(self) -> tuple[dict[Any, int], dict[int, Any]]:
        """Ids by value, and values by id. A cold command that never asks does not load them."""
        with self._lock:
            loaded: tuple[dict[Any, int], dict[int, Any]] | None = self.__dict__.get("_entries")
            if loaded is not None:  # by another thread that asked at the same time
                return loaded
            query = f"SELECT coalesce(max(id) + 1, 0) FROM {self._table}"
            ((self._size,),) = self._cursor.execute(query).fetchall()
            self._written = self._size
            ids: dict[Any, int] = {}
            values: dict[int, Any] = {}
            newest = max(self._size - self._most, self._first)
            rows = self._rows("id < ? OR id >= ?", [self._first, newest])
            self._hold(rows, ids, values)
            if newest > self._first:
                among = f"SELECT {self._column} FROM {self._table} WHERE id >= ? AND id < ?"
                self._leave_out(self._hashes(among, [self._first, newest]))
            return ids, values

    @property
    def is_loaded(self) -> bool:
        """Whether a look-up costs no reading of the whole table."""
        return "_entries" in self.__dict__

    @property
    def _ids(self) -> dict[Any, int]:
        return self._entries[0]

    @property
    def _values(self) -> dict[int, Any]:
        return self._entries[1]

    @property
    def held(self) -> int:
        """How many values are in memory."""
        return len(self._values)

    def look_up(self, values: Iterable[Any]) -> None:
        """Find out about many values at once before `code` or `find` is asked for each."""
        ids = self._ids
        missing = [
            value
            for value in dict.fromkeys(values)
            if value is not None and value not in ids and value not in self._new
        ]
        if not missing or self._left_out is None:
            return
        with self._lock:
            asked = [list(value) if isinstance(value, tuple) else value for value in missing]
            hashes = self._hashes(f"SELECT unnest(?::{self._type}, max_depth := 1)", [asked])
            found = self._left_out.may_hold(hashes)
            known = [value for value, is_known in zip(asked, found, strict=True) if is_known]
            if known:
                among = f"(SELECT unnest(?::{self._type}, max_depth := 1))"
                self._hold(self._rows(f"{self._column} IN {among}", [known]))
            if len(self._new) > self._most:
                self._new.clear()
            self._new.update(value for value in missing if value not in ids)

    def code(self, value: str | tuple[str, ...] | None) -> int | None:
        """Id of a value, new when unseen; None stays None."""
        if value is None:
            return None
        identifier = self.find(value)
        if identifier is None:
            with self._lock:
                identifier = self._ids.setdefault(value, self._size)
                if identifier == self._size:
                    self._values[identifier] = value
                    self._size += 1
        return identifier

    def find(self, value: str | tuple[str, ...]) -> int | None:
        """Id of a value, None when it was never stored."""
        identifier = self._ids.get(value)
        if identifier is None and self._left_out is not None:
            self.look_up([value])
            identifier = self._ids.get(value)
        return identifier

    def find_written(self, value: str | tuple[str, ...]) -> int | None:
        """As `find`, None too while a failing transaction could still give the id to another value."""
        written = self._written if self.is_loaded else 0
        identifier = self.find(value)
        return identifier if identifier is not None and identifier < written else None

    def value(self, identifier: int | None) -> Any:
        """Value of an id; None stays None."""
        if identifier is None:
            return None
        value = self._values.get(identifier)
        if value is None and identifier < self._written and self._left_out is not None:
            first = identifier // _BLOCK * _BLOCK
            read = self._read("id BETWEEN ? AND ?", [first, first + _BLOCK - 1])
            value = read.get(identifier)
        return value

    def values(self, identifiers: Iterable[int]) -> dict[int, Any]:
        """Values by id, of many; those that were forgotten are left out."""
        wanted = list(identifiers)
        held = self._values
        found = {number: value for number in wanted if (value := held.get(number)) is not None}
        if len(found) < len(wanted) and self._left_out is not None:
            missing = [number for number in wanted if number not in found]
            found |= self._read("id IN (SELECT unnest(?::INTEGER[]))", [missing])
        return found

    def items(self) -> Iterator[tuple[int, Any]]:
        """All (id, value), in no order."""
        with self._lock:
            held = list(self._values.items())
            rows = self._rows("true", []) if self._left_out is not None else []
        known = {number for number, _ in held}
        yield from held
        yield from ((number, value) for number, value in rows if number not in known)

    def __len__(self) -> int:
        _ = self._entries
        return self._size

    def flush(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Append new entries; call inside the transaction that uses them, then `confirm`."""
        if not self.is_loaded:
            return
        fresh = [(number, self._values[number]) for number in range(self._written, self._size)]
        rows = [
            (number, list(value) if isinstance(value, tuple) else value) for number, value in fresh
        ]
        if rows:
            with cursor.appender(self._table) as appender:
                appender.append_rows(rows)

    def confirm(self) -> None:
        """The transaction that flushed has committed."""
        if not self.is_loaded:
            return
        with self._lock:
            self._written = self._size
            self._new.clear()
            self._make_room()

    def forget(self) -> None:
        """The transaction failed: unwritten ids are free again."""
        if not self.is_loaded:
            return
        with self._lock:
            for number in range(self._written, self._size):
                del self._ids[self._values.pop(number)]
            self._size = self._written

    def remove(self, identifiers: Iterable[int]) -> None:
        """Rows that were deleted from the table; a value that comes again gets another id."""
        if not self.is_loaded:
            return
        with self._lock:
            for number in identifiers:
                self._ids.pop(self._values.pop(number, None), None)

    def _read(self, condition: str, parameters: list[object]) -> dict[int, Any]:
        """Values that are not held, by id; they are from now on."""
        with self._lock:
            rows = self._rows(condition, parameters)
            # An answer about all that was ever stored must not take the place of all else.
            if len(rows) <= self._most // 4:
                self._hold(rows)
                self._make_room()
        return dict(rows)

    def _rows(self, condition: str, parameters: list[object]) -> Collection[tuple[int, Any]]:
        rows = self._cursor.execute(
            f"SELECT id, {self._column} FROM {self._table} WHERE {condition} ORDER BY id",
            parameters,
        ).fetchall()
        one = self._names
        return [
            (number, tuple([one.setdefault(name, name) for name in value]))
            if isinstance(value, list)
            else (number, value)
            for number, value in rows
        ]

    def _hold(
        self,
        rows: Iterable[tuple[int, Any]],
        ids: dict[Any, int] | None = None,
        values: dict[int, Any] | None = None,
    ) -> None:
        ids = self._ids if ids is None else ids
        values = self._values if values is None else values
        for number, value in rows:
            if value is not None:
                values[number] = value
                ids[value] = number

    def _make_room(self) -> None:
        """Leave out what has been held for longest, but for what is not stored yet."""
        if len(self._values) <= self._most:
            return
        oldest = islice(self._values, len(self._values) - self._most // 2)
        leaving = [number for number in oldest if self._first <= number < self._written]
        for first in range(0, len(leaving), _CHUNK):
            part = leaving[first : first + _CHUNK]
            among = f"SELECT {self._column} FROM {self._table} WHERE id IN (SELECT unnest(?::INTEGER[]))"
            # Before they leave: who misses a value must find that it may be stored.
            self._leave_out(self._hashes(among, [part]))
            for number in part:
                self._ids.pop(self._values.pop(number), None)
        self._names.clear()

    def _leave_out(self, hashes: Hashes) -> None:
        if self._left_out is None:
            from whyflame.store.left_out import LeftOut

            self._left_out = LeftOut()
        self._left_out.add(hashes)

    def _hashes(self, query: str, parameters: list[object]) -> Hashes:
        found = self._cursor.execute(f"SELECT hash(value) AS h FROM ({query}) t(value)", parameters)
        hashes: Hashes = found.fetchnumpy()["h"]
        return hashes
