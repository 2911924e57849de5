"""How many operations a tenant has, and from when to when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.where import compile_tenant

if TYPE_CHECKING:
    from whyflame.store.readable import Readable

__all__ = ["operations_extent"]


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
