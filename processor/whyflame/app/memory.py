"""Memory that a busy moment needed is given back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.store.duck import Store

__all__ = ["give_back", "share_arenas"]

# From malloc.h: the parameter that bounds the arenas.
_M_ARENA_MAX = -8
_ARENAS = 2


def share_arenas() -> None:
    """Let threads allocate from the same few arenas; call it before they start.

    With one for each thread a third to a half of the C library's memory is holes: 113 MiB after five
    minutes of load, where 63 do. Threads that share an interpreter hardly allocate at the same time.
    """
    set_option = _of_library("mallopt")
    if set_option is not None:
        set_option(_M_ARENA_MAX, _ARENAS)


def give_back(store: Store, unasked_seconds: float, *, patience_seconds: float = 300.0) -> None:
    """Give back what allocators keep; and cached blocks of the store, unless questions need them.

    Args:
        store: The open store. unasked_seconds: How long ago the last question was.
        patience_seconds: What questions brought into memory stays so long after the last one.
    """
    if unasked_seconds >= patience_seconds:
        store.shrink()
    trim = _of_library("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _of_library(name: str) -> Callable[..., Any] | None:
    """A function of glibc; other libraries have no such knob."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), name, None)
