"""How much of the journal waits for the index stage, cheap enough to ask on every request.

And how much room is left: a journal that filled the disk could not be stored, so would never be freed.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from whyflame.errors import Backpressure, TransientError
from whyflame.journal.tail import pending_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["PendingLimit"]

_REFRESH_SECONDS = 0.5
_RETRY_SECONDS = 2.0
_FULL_RETRY_SECONDS = 5.0
# Enough for a few transactions of the store; of a small disk a part, since something must be left to use.
_SPARE_BYTES, _SPARE_PART = 128 << 20, 4


class PendingLimit:
    """Refuses new requests while too much waits to be indexed, or the disk is nearly full. Thread-safe.

    Looks at the disk at most twice a second and adds what was accepted in between, so that a burst
    cannot run past the limit unseen.

    Args:
        journal_dir: Directory of all streams.
        max_bytes: `otlp.max_pending_bytes`.
        clock: Monotonic seconds.
    """

    def __init__(
        self, journal_dir: Path, max_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = journal_dir
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._bytes = 0
        self._room = 0

    def admit(self, size: int) -> None:
        """Let a request of `size` bytes pass.

        Raises:
            Backpressure: The limit is reached, though one request always passes an idle journal,
                however large. Or it would leave too little room for the store.
            TransientError: The directory is gone, whatever a writer has open in it.
        """
        with self._lock:
            self._look()
            if self._bytes and self._bytes + size > self._max_bytes:
                raise Backpressure(
                    f"{self._bytes} bytes wait to be indexed (otlp.max_pending_bytes)",
                    _RETRY_SECONDS,
                )
            if size > self._room or self._room <= 0:
                raise Backpressure(
                    "the journal's disk is nearly full: what is left is for storing",
                    _FULL_RETRY_SECONDS,
                )
            self._bytes += size
            self._room -= size

    @property
    def is_full(self) -> bool:
        """Whether the next request would be refused, however small."""
        with self._lock:
            self._look()
            return self._bytes > self._max_bytes or self._room <= 0

    def _look(self) -> None:
        now = self._clock()
        if now - self._looked >= _REFRESH_SECONDS:
            self._bytes = pending_bytes(self._directory)
            self._room = _room(self._directory)
            self._looked = now


def _room(directory: Path) -> int:
    """Bytes that the journal may still take of its disk."""
    try:
        status = os.statvfs(directory)
    except OSError as error:
        # Else requests would be written where nobody finds them.
        raise TransientError(f"the journal's directory is gone: {error.strerror}") from error
    size = status.f_blocks * status.f_frsize
    return status.f_bavail * status.f_frsize - min(_SPARE_BYTES, size // _SPARE_PART)
