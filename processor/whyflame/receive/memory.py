"""Memory of requests is kept for the next ones, and given back when none come.

The C library returns blocks of a megabyte to the system as soon as they are free and takes fresh pages for
the next request: a quarter of what receiving costs. Threads share an arena for the same reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whyflame import allocator

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.receive.limits import InflightBytes

__all__ = ["IdleMemory", "keep_memory"]

# Of an arena; larger blocks than the second never stay.
_KEPT_BYTES, _LARGEST_BYTES = 64 << 20, 32 << 20
_IDLE_SECONDS = 10.0


def keep_memory() -> None:
    """Set up the C library; call it before threads start."""
    allocator.set_bounds({allocator.TRIM: _KEPT_BYTES, allocator.LARGEST: _LARGEST_BYTES})
    allocator.share_arenas()


class IdleMemory:
    """Gives kept memory back once no request has come for a while. For one thread.

    Args:
        inflight: Tells when the last request came. trim: Gives back.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        inflight: InflightBytes,
        trim: Callable[[], object] = allocator.trim,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inflight = inflight
        self._trim = trim
        self._clock = clock
        self._requests, self._since, self._is_kept = 0, clock(), False

    def tick(self) -> None:
        """Look; call about once a second."""
        now, requests = self._clock(), self._inflight.requests
        if requests != self._requests or self._inflight.used:
            self._requests, self._since, self._is_kept = requests, now, True
        elif self._is_kept and now - self._since >= _IDLE_SECONDS:
            self._is_kept = False
            self._trim()
