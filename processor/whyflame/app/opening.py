"""Opening the store of a data directory: all that a cold question needs of the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.config import default_memory_limit
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.config import Config

__all__ = ["DATABASE", "open_store"]

DATABASE = "whyflame.duckdb"


def open_store(data_dir: Path, config: Config, *, to_read: bool = False) -> Store:
    """Open the store of a data directory, making it when new.

    Args:
        data_dir: Where it lives.
        config: For its limits.
        to_read: Nothing will be written (see `Store`).

    Raises:
        StoreError: A server holds it, or a newer version wrote it.
    """
    return Store(
        data_dir / DATABASE,
        memory_limit=config.store.memory_limit or default_memory_limit(),
        threads=config.store.threads,
        to_read=to_read,
    )
