"""Writing and reading past the system's page cache.

Copying megabytes into fresh pages of the cache and writing those back later costs several times the
processor that handing one block of memory over and over to the device does, and the system's
memory, which containers are charged for. The price: such writes begin and end on whole blocks
of the file. Zeros fill the last one (`frame.padding_bytes`), so a block is never written twice.
What was written so is not in the cache: reading it in the ordinary way would fill pages as well.
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

__all__ = ["DIRECT_BYTES", "DirectReader", "DirectWriter", "NotDirectError", "fill_block"]

# Readers go through the cache, whose pages must not reach beyond the block that a file ends on.
_O_DIRECT = getattr(os, "O_DIRECT", 0) if mmap.PAGESIZE == BLOCK_BYTES else 0
DIRECT_BYTES = 256 << 10
"""Below it one more wait for the device costs more than the pages of the cache."""

_STAGE_BYTES = 4 << 20
# A file is not written while it is read so: short reads let acknowledgements through.
_READ_BYTES = 2 << 20
_write = os.write


class NotDirectError(Exception):
    """This file system cannot; nothing was written."""


class DirectWriter:
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


class DirectReader:
    """Reads into a block of memory of its own, which grows with what is asked for. For one thread."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None

    def read(self, descriptor: int, size: int, offset: int) -> memoryview:
        """As `os.pread`; the answer holds until the next call.

        Raises:
            NotDirectError: It must be read in the ordinary way.
        """
        skipped = offset % BLOCK_BYTES
        wanted = size + skipped + -(size + skipped) % BLOCK_BYTES
        if self._memory is None or len(self._memory) < wanted:
            self._memory = mmap.mmap(-1, wanted)
        memory = memoryview(self._memory)
        with _past_the_cache(descriptor):
            filled = _read_blocks(descriptor, memory[:wanted], offset - skipped)
        return memory[skipped : max(skipped, min(filled, skipped + size))]

    def release(self) -> None:
        """Give the memory back; the next read takes some anew."""
        self._memory = None


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


def _read_blocks(descriptor: int, memory: memoryview, offset: int) -> int:
    """Fill the memory from the file, as far as that goes; returns how far."""
    at = 0
    while at < len(memory):
        part = memory[at : at + _READ_BYTES]
        try:
            found = os.preadv(descriptor, [part], offset + at)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise NotDirectError from error
            raise
        at += found
        if found < len(part):
            break
    return at


@contextmanager
def _past_the_cache(descriptor: int) -> Iterator[None]:
    """Calls go to the device itself meanwhile. Raises NotDirectError."""
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
