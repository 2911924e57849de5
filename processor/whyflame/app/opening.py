"""Opening the store of a data directory: all that a cold question needs of the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.config.memory import default_memory_limit
from whyflame.errors import StoreError
from whyflame.store.duck import DEFAULT_THREADS, Store

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.config import Config

__all__ = ["DATABASE", "make_data_dir", "open_store"]

DATABASE = "whyflame.duckdb"


def make_data_dir(directory: Path) -> None:
    """Make a data directory that only its owner may look into; one that is there stays as it is.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except FileExistsError as error:
        raise StoreError(f"data directory {directory}: a file is in its place") from error
    except OSError as error:
        raise StoreError(
            f"data directory {directory} cannot be made: {error.strerror}; name another one with "
            "--data-dir or data_dir"
        ) from error


def open_store(data_dir: Path, config: Config | None, *, to_read: bool = False) -> Store:
    """Open the store of a data directory, making it when new.

    Args:
        data_dir: Where it lives.
        config: For its limits; None for those of an empty configuration.
        to_read: Nothing will be written (see `Store`).

    Raises:
        StoreError: A server holds it, or a newer version wrote it.
    """
    return Store(
        data_dir / DATABASE,
        memory_limit=(config.store.memory_limit if config else 0) or default_memory_limit(),
        threads=config.store.threads if config else DEFAULT_THREADS,
        to_read=to_read,
    )
