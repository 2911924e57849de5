"""Bounds at the entry: inflating, and bytes in hand."""

from __future__ import annotations

import threading
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import Backpressure, PermanentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["InflightBytes", "Reservation", "inflate", "too_large"]

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_PIECE = 1 << 20


def too_large(limit: int) -> PermanentError:
    """The refusal of a request beyond `otlp.max_request_bytes`."""
    return PermanentError(
        f"request larger than {limit} bytes (otlp.max_request_bytes)", "too_large"
    )


def inflate(data: bytes, limit: int) -> bytes:
    """Inflate gzip (several members) or zlib data, never to more than `limit` bytes.

    Raises:
        PermanentError: Not gzip, cut off (`bad_compression`), or beyond the limit (`too_large`).
    """
    pieces: list[bytes] = []
    size = 0
    while data:
        member = zlib.decompressobj(_GZIP_OR_ZLIB)
        while not member.eof:
            try:
                piece = member.decompress(data, min(_PIECE, limit - size + 1))
            except zlib.error as error:
                raise PermanentError("body is not valid gzip", "bad_compression") from error
            data = member.unconsumed_tail
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            if not piece and not data and not member.eof:
                raise PermanentError("gzip body is cut off", "bad_compression")
            pieces.append(piece)
        data = member.unused_data
    return b"".join(pieces)


class InflightBytes:
    """Counts the bytes of requests being handled and refuses beyond a limit. Thread-safe.

    Args:
        max_bytes: `otlp.max_inflight_bytes`.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._used = 0
        self._requests = 0

    @property
    def requests(self) -> int:
        """How many reservations there were, to see whether any came."""
        return self._requests

    @property
    def used(self) -> int:
        """Bytes held now."""
        return self._used

    def check(self) -> None:
        """Raise Backpressure when nothing more can be taken."""
        if self._used >= self._max_bytes:
            raise self._refusal()

    @contextmanager
    def hold(self) -> Iterator[Reservation]:
        """A reservation that grows as bytes arrive and is given back at the end."""
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            self._give_back(reservation.size)

    def take(self, size: int) -> None:
        """Reserve bytes. A request always passes when nothing else is in hand.

        Raises:
            Backpressure: The limit is reached.
        """
        with self._lock:
            if self._used and self._used + size > self._max_bytes:
                raise self._refusal()
            self._used += size
            self._requests += 1
        telemetry.RECEIVER_INFLIGHT_BYTES.add(size)

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._used -= size
        telemetry.RECEIVER_INFLIGHT_BYTES.add(-size)

    def _refusal(self) -> Backpressure:
        return Backpressure(
            f"{self._used} bytes of requests are being handled (otlp.max_inflight_bytes)", 1.0
        )


class Reservation:
    """Bytes held by one request."""

    def __init__(self, inflight: InflightBytes) -> None:
        self._inflight = inflight
        self.size = 0

    def add(self, size: int) -> None:
        """Hold more. Raises Backpressure."""
        self._inflight.take(size)
        self.size += size
