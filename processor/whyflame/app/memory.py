"""Memory that a busy moment needed is given back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

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
    trim = _trimmer()
    if trim is not None:
        trim(0)


@cache
def _trimmer() -> Callable[[int], Any] | None:
    """The C library keeps freed memory in the arena of each thread: 60 MiB of 120 after some passes."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
