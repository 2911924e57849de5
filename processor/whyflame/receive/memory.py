"""Memory of requests is kept for the next ones, and given back when none come.

The C library returns blocks of a megabyte to the system as soon as they are free and takes fresh pages for
the next request: a quarter of what receiving costs. Threads share an arena for the same reason.
"""

from __future__ import annotations

import ctypes
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.receive.limits import InflightBytes

__all__ = ["IdleMemory", "keep_memory"]

# From malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# Of an arena; larger blocks than the second never stay.
_KEPT_BYTES, _LARGEST_BYTES = 64 << 20, 32 << 20
_ARENAS = 2
_IDLE_SECONDS = 10.0


def keep_memory() -> None:
    """Set up the C library; call it before threads start. Others than glibc have no such knobs."""
    set_option = _of_library("mallopt")
    if set_option is not None:
        set_option(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_M_MMAP_THRESHOLD, _LARGEST_BYTES)
        set_option(_M_ARENA_MAX, _ARENAS)


class IdleMemory:
    """Gives kept memory back once no request has come for a while. For one thread.

    Args:
        inflight: Tells when the last request came. trim: Gives back; the C library's when not given.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        inflight: InflightBytes,
        trim: Callable[[int], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inflight = inflight
        self._trim = trim or _of_library("malloc_trim")
        self._clock = clock
        self._requests, self._since, self._is_kept = 0, clock(), False

    def tick(self) -> None:
        """Look; call about once a second."""
        now, requests = self._clock(), self._inflight.requests
        if requests != self._requests or self._inflight.used:
            self._requests, self._since, self._is_kept = requests, now, True
        elif self._is_kept and now - self._since >= _IDLE_SECONDS:
            self._is_kept = False
            if self._trim is not None:
                self._trim(0)


def _of_library(name: str) -> Callable[..., Any] | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), name, None)
