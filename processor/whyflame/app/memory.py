"""Memory that a busy moment needed is given back to the system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.allocator import trim

if TYPE_CHECKING:
    from whyflame.store.duck import Store

__all__ = ["give_back"]


def give_back(store: Store, unasked_seconds: float, *, patience_seconds: float = 300.0) -> None:
    """Give back what allocators keep; and cached blocks of the store, unless questions need them.

    Args:
        store: The open store. unasked_seconds: How long ago the last question was.
        patience_seconds: What questions brought into memory stays so long after the last one.
    """
    if unasked_seconds >= patience_seconds:
        store.shrink()
    trim()
