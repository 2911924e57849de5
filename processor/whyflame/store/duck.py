"""Opening the store: one DuckDB file, one process, a cursor for each thread.

A DuckDB file belongs to the process that opened it; a second one gets `StoreError`. Writers are
one thread each (indexer, settle job, export job) and append to tables of their own, so their
transactions never conflict.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from whyflame.errors import StoreBroken, StoreError, TransientError
from whyflame.store.dictionary import Dictionary
from whyflame.store.driver import NO_BAR, duckdb
from whyflame.store.kept import Kept
from whyflame.store.schema import ADDED_COLUMNS, LAYOUT, TABLES, VIEWS
from whyflame.store.versions import facts_of_this_version, why_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEFAULT_MEMORY_LIMIT = 512 << 20
DEFAULT_THREADS = 2
# Rows stay in memory, uncompressed, until they are checkpointed: up to 292 MiB of them at a threshold
# of 256 MiB, 78 at 64, for the same CPU a span (15.8 and 16.0 us, appended and checkpointed).
CHECKPOINT_THRESHOLD = "64MiB"
# Of what was read and nobody uses; a question may have all of the limit.
KEPT_SHARE = 8
# Room for whatever begins to allocate while blocks are dropped.
HEADROOM_SHARE = 8


class Store:
    """One open store.

    Args:
        path: The DuckDB file; made when absent.
        memory_limit: Bytes DuckDB may use; 0 means 512 MiB.
        threads: DuckDB threads for queries.
        to_read: Nothing will be written. Then a store that was closed in good order opens without
            a change to its file, and many such readers may have it open.

    Raises:
        StoreError: Another process holds the file, or a newer whyflame wrote it.
    """

    def __init__(
        self,
        path: Path,
        *,
        memory_limit: int = 0,
        threads: int = DEFAULT_THREADS,
        to_read: bool = False,
    ) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._limit = memory_limit or DEFAULT_MEMORY_LIMIT
        self._settings: dict[str, Any] = {
            "threads": threads,
            "memory_limit": _mebibytes(self._limit),
            "checkpoint_threshold": CHECKPOINT_THRESHOLD,
            # Else the 100 MiB that a checkpoint works in stay with the process.
            "allocator_background_threads": not to_read,
            "temp_directory": str(path.parent / "spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        # What a crash left in the write-ahead log is folded in once, not replayed by every reader.
        self._is_read_only = to_read and path.exists() and not self._wal.exists()
        self._connection = self._connect()
        self._prepare()
        self.strings = Dictionary(self.cursor(), "strings", "value")
        self.paths = Dictionary(self.cursor(), "paths", "names")
        self.kept = Kept()

    @property
    def _wal(self) -> Path:
        return self.path.with_name(self.path.name + ".wal")

    def _connect(self) -> duckdb.DuckDBPyConnection:
        try:
            connection = duckdb.connect(
                str(self.path), read_only=self._is_read_only, config=self._settings
            )
        except duckdb.IOException as error:
            if "lock" in str(error):
                raise StoreError(
                    f"{self.path} is in use by another process; ask the running server with --url"
                ) from error
            raise StoreError(f"cannot open {self.path}: {error}") from error
        # No query may reach other files; set last, since it freezes the directories above.
        connection.execute("SET enable_external_access = false")
        connection.execute(NO_BAR)
        return connection

    def _prepare(self) -> None:
        """Make what this version's layout has and the file has not."""
        facts = self._facts()
        refusal = why_refused(self.path, facts)
        if refusal is not None:
            self._connection.close()
            raise StoreError(refusal)
        if facts.get("layout") == LAYOUT:
            return
        if self._is_read_only:
            self._connection.close()
            self._is_read_only = False
            self._connection = self._connect()
        self._connection.execute(TABLES)
        self._connection.execute(ADDED_COLUMNS)
        self._connection.execute(VIEWS)
        prepared = facts_of_this_version()
        self._connection.execute("DELETE FROM meta WHERE key IN (SELECT unnest(?))", [[*prepared]])
        self._connection.executemany("INSERT INTO meta VALUES (?, ?)", [*prepared.items()])

    def _facts(self) -> dict[str, str]:
        """The table `meta`; empty for a new file."""
        try:
            return dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        except duckdb.CatalogException:
            return {}

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for one thread."""
        cursor = self._connection.cursor()
        cursor.execute(NO_BAR)
        return cursor

    def interrupt(self) -> None:
        """Cancel the running query of the main connection."""
        self._connection.interrupt()

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file."""
        self.cursor().execute("CHECKPOINT")

    def shrink(self) -> None:
        """Drop blocks of the file that nobody uses, the longest unused first.

        They would fill `memory_limit`, whatever the load: a collector reads and writes more in an
        hour than fits. An eighth of the limit stays, and no more than a quarter is there afterwards.
        """
        cursor = self.cursor()
        (row,) = cursor.execute(
            "SELECT coalesce(sum(memory_usage_bytes) FILTER (tag IN ('BASE_TABLE', 'METADATA')), 0), "
            "coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()"
        ).fetchall()
        blocks, used = (int(number) for number in row)
        kept = self._limit // KEPT_SHARE
        wanted = used - blocks + kept + self._limit // HEADROOM_SHARE
        if blocks <= kept or used <= wanted or wanted >= self._limit:
            return
        try:
            # Blocks in use stay; those of the file go before anything that would have to be spilled.
            cursor.execute(f"SET memory_limit = '{_mebibytes(wanted)}'")
        except duckdb.OutOfMemoryException:
            return
        finally:
            cursor.execute(f"SET memory_limit = '{_mebibytes(self._limit)}'")

    def close(self) -> None:
        """Checkpoint and release the file; the store cannot be used afterwards."""
        if not self._is_read_only:
            self._connection.execute("CHECKPOINT")
        self._connection.close()

    def database_bytes(self) -> int:
        """Bytes on disk: file and write-ahead log."""
        return sum(file.stat().st_size for file in (self.path, self._wal) if file.exists())


def _mebibytes(size: int) -> str:
    return f"{size // (1 << 20)}MiB"


# A commit that finds no room on disk says only that it failed; what it was to store is in order.
_SHORT_OF_ROOM = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.TransactionException)


@contextmanager
def transaction(
    cursor: duckdb.DuckDBPyConnection, meanwhile: Callable[[], object] | None = None
) -> Iterator[None]:
    """Run a block in one transaction; any error rolls all of it back.

    Args:
        cursor: Of this thread.
        meanwhile: What to do while the commit writes and syncs, which needs no Python; must not
            raise.

    Raises:
        TransientError: No room on disk or in memory. StoreBroken: DuckDB gave the database up.
    """
    try:
        cursor.execute("BEGIN")
        yield
        _commit(cursor, meanwhile)
    except duckdb.FatalException as error:
        raise StoreBroken("the store has to be opened again") from error
    except _SHORT_OF_ROOM as error:
        _roll_back(cursor)
        raise TransientError("the store's disk is full or failing, or memory is short") from error
    except BaseException:
        _roll_back(cursor)
        raise


def _commit(cursor: duckdb.DuckDBPyConnection, meanwhile: Callable[[], object] | None) -> None:
    if meanwhile is None:
        cursor.execute("COMMIT")
        return
    # Questions open stores as well, and start sooner without it.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "commit") as beside:
        committing = beside.submit(cursor.execute, "COMMIT")
        meanwhile()
        committing.result()


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    # A failed COMMIT has ended the transaction itself.
    with suppress(duckdb.TransactionException):
        cursor.execute("ROLLBACK")


def append(cursor: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Append rows through DuckDB's Appender (170 times cheaper than executemany)."""
    if rows:
        with cursor.appender(table) as appender:
            appender.append_rows(rows)
