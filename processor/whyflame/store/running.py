"""One question while it runs: a cursor of its own, bounded in rows, stoppable from another thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import duckdb

from whyflame.errors import QueryStopped, QueryTooLarge, UsageError, WhyflameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whyflame.store.duck import Store

__all__ = ["RunningQuery"]


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
        found = self._run(sql, params, lambda found: list(found.fetchnumpy().values()))
        self._bound(len(found[0]))
        return list(found)

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
        return {number: self.store.strings.value(number) for number in ids}

    def paths(self, ids: Iterable[int]) -> Mapping[int, Sequence[str]]:
        """Names of `paths` by id, outermost first."""
        return {number: self.store.paths.value(number) for number in ids}
