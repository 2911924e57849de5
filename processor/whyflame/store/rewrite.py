"""Writing a database file anew, without the bytes of rows that were deleted.

DuckDB marks the blocks of deleted rows as free and leaves their bytes in the file, also after a
checkpoint. A copy into a new file holds live rows only; it then takes the place of the old one.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from whyflame.errors import StoreError
from whyflame.store.driver import NO_BAR, duckdb

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["rewrite_database"]


def rewrite_database(path: Path, *, memory_limit: int, threads: int = 1) -> int:
    """Copy the live rows of a closed store into a new file and put that in its place.

    A crash leaves the old file or the new one, and at worst a `.rewrite` file that the next call
    removes. Needs as much free disk as the live rows take.

    Args:
        path: The database; nobody may have it open.
        memory_limit: Bytes DuckDB may use. threads: Of the copy.

    Returns:
        Bytes of the new file.

    Raises:
        StoreError: The file is in use, or the disk is full.
    """
    fresh = path.with_name(f"{path.name}.rewrite")
    _remove(fresh)
    spill = path.parent / "spill-rewrite"
    config: dict[str, Any] = {
        "threads": threads,
        "memory_limit": f"{max(64, memory_limit // (1 << 20))}MiB",
        "temp_directory": str(spill),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute(NO_BAR)
            connection.execute(f"ATTACH {_quoted(path)} AS old")
            connection.execute(f"ATTACH {_quoted(fresh)} AS fresh")
            connection.execute("COPY FROM DATABASE old TO fresh")
            connection.execute("CHECKPOINT fresh")
            connection.execute("DETACH fresh")
            connection.execute("DETACH old")
        _sync(fresh)
        fresh.replace(path)
        _sync(path.parent)
    except (duckdb.Error, OSError) as error:
        _remove(fresh)
        raise StoreError(f"cannot write {path} anew: {error}") from error
    finally:
        shutil.rmtree(spill, ignore_errors=True)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    return path.stat().st_size


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.with_name(f"{file.name}.wal").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _quoted(path: Path) -> str:
    # ATTACH takes no parameters.
    return "'" + str(path).replace("'", "''") + "'"
