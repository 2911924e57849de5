"""One question while it runs: a cursor of its own, bounded in rows, stoppable from another thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import duckdb

from whyflame.errors import QueryStopped, QueryTooLarge, UsageError, WhyflameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whyflame.store.dictionary import Dictionary
    from whyflame.store.duck import Store
    from whyflame.store.kept import Kept

__all__ = ["RunningQuery", "RunningStore"]


class RunningQuery:
    """Runs the statements of one question, in one thread.

    Args:
        store: The open store.
        max_rows: Rows that one statement may give; more raise QueryTooLarge.
    """

    def __init__(self, store: Store, max_rows: int) -> None:
        self.store = store
        self._max_rows = max_rows
        self._cursor = store.cursor()
        self._stopped: str | None = None
        self._lock = threading.Lock()
        self._open = True

    def stop(self, reason: str) -> None:
        """End the question from any thread. Call it again until it has ended.

        A statement that begins at the very same time may not notice the first call.
        """
        with self._lock:
            self._stopped = self._stopped or reason
            if self._open:
                self._cursor.interrupt()

    def check(self) -> None:
        """Raise when stopped; for the steps between statements.

        Raises:
            QueryStopped: `stop` was called.
        """
        if self._stopped is not None:
            raise QueryStopped(self._stopped)

    def rows(self, sql: str, params: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        rows: list[tuple[Any, ...]] = self._run(sql, params, lambda found: found.fetchall())
        self._bound(len(rows))
        return rows

    def columns(self, sql: str, params: Iterable[object] = ()) -> list[Any]:
        """The columns of a statement's result as numpy arrays."""
        return list(self.named_columns(sql, params).values())

    def named_columns(self, sql: str, params: Iterable[object] = ()) -> dict[str, Any]:
        """As `columns`, by name."""
        found: dict[str, Any] = self._run(sql, params, lambda found: found.fetchnumpy())
        self._bound(len(next(iter(found.values()))))
        return found

    def _bound(self, rows: int) -> None:
        if rows > self._max_rows:
            raise QueryTooLarge(
                f"the answer has more than {self._max_rows:,} rows (query.max_stacks): choose a "
                "shorter range, a filter, or a stack with fewer fields"
            )

    def _run(
        self,
        sql: str,
        params: Iterable[object],
        read: Callable[[duckdb.DuckDBPyConnection], Any],
    ) -> Any:
        self.check()
        limited = f"SELECT * FROM ({sql}) LIMIT {self._max_rows + 1}"
        try:
            found = read(self._cursor.execute(limited, list(params)))
        except duckdb.InterruptException as error:
            raise QueryStopped(self._stopped or "the query was stopped") from error
        except duckdb.OutOfMemoryException as error:
            raise QueryTooLarge(
                "the query needs more memory than it may take (store.memory_limit): choose a "
                "shorter range, a filter, or a stack with fewer fields"
            ) from error
        except duckdb.InvalidInputException as error:
            raise UsageError(f"not a regular expression that RE2 knows: {error}") from error
        except duckdb.Error as error:
            raise WhyflameError(f"the query failed: {type(error).__name__}") from error
        self.check()
        return found

    def close(self) -> None:
        """Give the cursor back."""
        with self._lock:
            self._open = False
            self._cursor.close()

    # The tables of ids, read from memory: a dictionary of the fold.

    def strings(self, ids: Iterable[int]) -> Mapping[int, str]:
        """Values of `strings` by id."""
        return self.store.strings.values(ids)

    def paths(self, ids: Iterable[int]) -> Mapping[int, Sequence[str]]:
        """Names of `paths` by id, outermost first."""
        return self.store.paths.values(ids)


class RunningStore:
    """The store as one running question may read it (`store.readable.Readable`).

    Args:
        query: Whose bounds hold for every statement.
    """

    def __init__(self, query: RunningQuery) -> None:
        self._query = query

    @property
    def strings(self) -> Dictionary:
        """The table `strings`."""
        return self._query.store.strings

    @property
    def paths(self) -> Dictionary:
        """The table `paths`."""
        return self._query.store.paths

    @property
    def kept(self) -> Kept:
        """What was found out and still holds."""
        return self._query.store.kept

    def cursor(self) -> _BoundedCursor:
        """A cursor that runs on the question's own."""
        return _BoundedCursor(self._query)

    def database_bytes(self) -> int:
        """Bytes on disk."""
        return self._query.store.database_bytes()


class _BoundedCursor:
    """Statements run when their rows are read."""

    def __init__(self, query: RunningQuery) -> None:
        self._query = query

    def execute(self, sql: str, params: Iterable[object] = (), /) -> _BoundedRows:
        return _BoundedRows(self._query, sql, params)


class _BoundedRows:
    """The rows of one statement, all read at once: what is left on the cursor would be in the way."""

    def __init__(self, query: RunningQuery, sql: str, params: Iterable[object]) -> None:
        self._query, self._sql, self._params = query, sql, params

    def fetchall(self) -> list[Any]:
        return self._query.rows(self._sql, self._params)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchall()), None)

    def fetchnumpy(self) -> dict[str, Any]:
        return self._query.named_columns(self._sql, self._params)
