"""How many operations a tenant has, and from when to when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.where import compile_tenant

if TYPE_CHECKING:
    from whyflame.store.readable import Readable

__all__ = ["newest_generation", "operations_extent"]


def operations_extent(store: Readable, tenant: str) -> tuple[int, int | None, int | None]:
    """(operations, first start, last end); times are None without operations."""
    mine = compile_tenant(tenant)
    row = (
        store.cursor()
        .execute(
            f"SELECT count(*), min(start_ns), max(end_ns) FROM operations WHERE {mine.sql}",
            list(mine.params),
        )
        .fetchone()
    )
    return row or (0, None, None)


def newest_generation(store: Readable) -> int:
    """A number that grows whenever anything is settled, or segmented anew; 0 for an empty store."""
    row = store.cursor().execute("SELECT coalesce(max(generation), 0) FROM generations").fetchone()
    return int(row[0]) if row else 0
