"""gzip of large bodies on both cores, with bytes that depend on nothing but the input."""

from __future__ import annotations

import zlib
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["gzip_bytes"]

_CHUNK = 1 << 20
_WORKERS = 2
_WITH_HEADER, _BARE = 31, -15  # zlib's codes for a gzip wrapping (time 0, no name) and for none
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"


def gzip_bytes(pieces: Iterable[bytes], level: int) -> bytes:
    """What the pieces are together, as one gzip member; always the same bytes for the same input.

    Bodies above a megabyte are deflated in chunks, which zlib does without holding Python's lock,
    while later pieces are still being made; the chunks end on byte boundaries, so that together
    they are one stream.
    """
    chunks = _chunks(pieces)
    first = next(chunks)
    second = next(chunks, None)
    if second is None:
        packer = zlib.compressobj(level, zlib.DEFLATED, _WITH_HEADER)
        return packer.compress(first) + packer.flush()
    from concurrent.futures import ThreadPoolExecutor  # small profiles do without its 10 ms

    checksum = size = 0
    with ThreadPoolExecutor(_WORKERS) as pool:
        packed = []
        for chunk in chain((first, second), chunks):
            packed.append(pool.submit(_deflate, chunk, level))
            checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
        body = b"".join([done.result() for done in packed])
    end = zlib.compressobj(level, zlib.DEFLATED, _BARE).flush()
    tail = checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join((_HEADER, body, end, tail))


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in chunks of a megabyte; at least one, and none empty behind it."""
    waiting = bytearray()
    is_first = True
    for piece in pieces:
        waiting += piece
        while len(waiting) > _CHUNK:
            yield bytes(waiting[:_CHUNK])
            del waiting[:_CHUNK]
            is_first = False
    if waiting or is_first:
        yield bytes(waiting)


def _deflate(chunk: bytes, level: int) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, _BARE)
    return packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH)
