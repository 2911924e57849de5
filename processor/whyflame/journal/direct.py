"""Writing past the system's page cache.

Copying megabytes into fresh pages of the cache and writing those back later costs several times the
processor that handing one block of memory over and over to the device does, and the system's
memory, which containers are charged for. The price: such writes begin and end on whole blocks
of the file. Zeros fill the last one (`frame.padding_bytes`), so a block is never written twice.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whyflame.journal.frame import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["DirectIO", "NotDirectError", "fill_block"]

# Readers go through the cache, whose pages must not reach beyond the block that a file ends on.
_O_DIRECT = getattr(os, "O_DIRECT", 0) if mmap.PAGESIZE == BLOCK_BYTES else 0
_STAGE_BYTES = 4 << 20
_write = os.write


class NotDirectError(Exception):
    """This file system cannot; nothing was written."""


class DirectIO:
    """Appends buffers through a block of memory of its own. For one thread."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None

    def append(self, descriptor: int, buffers: Sequence[bytes]) -> int:
        """Append to a file opened for appending that ends on a whole block.

        Returns:
            By how much it grew, the zeros of the last block included.

        Raises:
            NotDirectError: It must be written in the ordinary way.
            OSError: The disk is full or failing.
        """
        if self._memory is None:
            self._memory = mmap.mmap(-1, _STAGE_BYTES)
        written = 0
        with _past_the_cache(descriptor), memoryview(self._memory) as stage:
            for size in _staged(stage, buffers):
                _hand_over(descriptor, stage[:size], is_first=not written)
                written += size
        return written


def fill_block(descriptor: int) -> int:
    """Let a file end on a whole block; returns how many zeros that took."""
    missing = -os.fstat(descriptor).st_size % BLOCK_BYTES
    return os.write(descriptor, bytes(missing)) if missing else 0


def _staged(stage: memoryview, buffers: Sequence[bytes]) -> Iterator[int]:
    """Copy the buffers one behind the other; says each time how much is to be written."""
    used = 0
    for buffer in buffers:
        at = 0
        while at < len(buffer):
            taken = min(len(buffer) - at, len(stage) - used)
            stage[used : used + taken] = memoryview(buffer)[at : at + taken]
            at, used = at + taken, used + taken
            if used == len(stage):
                yield used
                used = 0
    if used:
        end = used + -used % BLOCK_BYTES
        stage[used:end] = bytes(end - used)
        yield end


def _hand_over(descriptor: int, rest: memoryview, *, is_first: bool) -> None:
    while rest:
        try:
            rest = rest[_write(descriptor, rest) :]
        except OSError as error:
            if is_first and error.errno == errno.EINVAL:
                raise NotDirectError from error
            raise
        is_first = False


@contextmanager
def _past_the_cache(descriptor: int) -> Iterator[None]:
    """Writes go to the device itself meanwhile. Raises NotDirectError."""
    if not _O_DIRECT:
        raise NotDirectError
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | _O_DIRECT)
    except OSError as error:
        raise NotDirectError from error
    try:
        yield
    finally:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)
