"""gzip of bodies on both cores, with bytes that depend on nothing but the input."""

from __future__ import annotations

import threading
import zlib
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["gzip_bytes"]

_STEP = 1 << 16
_STEPS = 16  # of a chunk, a megabyte
_WORKERS = 2
_WITH_HEADER, _BARE = 31, -15  # zlib's codes for a gzip wrapping (time 0, no name) and for none
_HEADER_BYTES = 10
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"


def gzip_bytes(pieces: Iterable[bytes], level: int) -> bytes:
    """What the pieces are together, as one gzip member; always the same bytes for the same input.

    zlib does not hold Python's lock, so that what is there is deflated while later pieces are being
    made. Bodies above a megabyte are deflated in chunks that end on byte boundaries, so that
    together they are one stream.
    """
    steps = _steps(pieces)
    first = _Deflating(islice(steps, _STEPS), level)
    second = b"".join(islice(steps, _STEPS))
    if not second:
        # The header that zlib writes for this level.
        header = zlib.compressobj(level, zlib.DEFLATED, _WITH_HEADER).flush()[:_HEADER_BYTES]
        return b"".join((header, first.end(zlib.Z_FINISH), _tail(first.checksum, first.size)))
    from concurrent.futures import ThreadPoolExecutor  # small profiles do without its 10 ms

    checksum, size = first.checksum, first.size
    with ThreadPoolExecutor(_WORKERS) as pool:
        packed = [pool.submit(first.end, zlib.Z_SYNC_FLUSH)]
        chunk = second
        while chunk:
            packed.append(pool.submit(_deflate, chunk, level))
            checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
            chunk = b"".join(islice(steps, _STEPS))
        body = b"".join([done.result() for done in packed])
    end = zlib.compressobj(level, zlib.DEFLATED, _BARE).flush()
    return b"".join((_HEADER, body, end, _tail(checksum, size)))


def _tail(checksum: int, size: int) -> bytes:
    return checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


class _Deflating:
    """The first chunk, deflated in a thread of its own while its steps are being made.

    Attributes:
        checksum: CRC of the steps, once there is the last. size: Their bytes.
    """

    def __init__(self, steps: Iterable[bytes], level: int) -> None:
        self.checksum = self.size = 0
        self._packer = zlib.compressobj(level, zlib.DEFLATED, _BARE)
        self._packed: list[bytes] = []
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            for step in steps:
                self._waiting.put(step)
        finally:
            self._waiting.put(b"")
            thread.join()

    def _run(self) -> None:
        while step := self._waiting.get():
            self._packed.append(self._packer.compress(step))
            self.checksum, self.size = zlib.crc32(step, self.checksum), self.size + len(step)

    def end(self, how: int) -> bytes:
        """The whole chunk, closed as zlib's flush of this kind does."""
        return b"".join((*self._packed, self._packer.flush(how)))


def _steps(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in steps of equal size, whatever the pieces; none is empty."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        if len(waiting) >= _STEP:
            whole = len(waiting) - len(waiting) % _STEP
            view = bytes(waiting[:whole])
            del waiting[:whole]
            for start in range(0, whole, _STEP):
                yield view[start : start + _STEP]
    if waiting:
        yield bytes(waiting)


def _deflate(chunk: bytes, level: int) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, _BARE)
    return packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH)
