"""What the journal asks of the operating system, in one place, so that tests can break it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whyflame.journal.direct import DIRECT_BYTES, DirectWriter, NotDirectError, fill_block

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Disk"]

_BUFFERS_A_CALL = 512  # below IOV_MAX (1024) on every Linux


class Disk:
    """Files and directories of the real file system. Every method may raise OSError.

    `write` is for one thread.
    """

    def __init__(self) -> None:
        self._direct: DirectWriter | None = DirectWriter()

    def create(self, path: Path) -> int:
        """Open a new file for appending and make its name durable."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            _sync_directory(path.parent)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def write(self, descriptor: int, buffers: Sequence[bytes]) -> int:
        """Append all buffers; returns by how much the file grew, zeros between groups included."""
        size = sum(map(len, buffers))
        filled = 0
        if self._direct is not None and size >= DIRECT_BYTES:
            filled = fill_block(descriptor)
            try:
                return filled + self._direct.append(descriptor, buffers)
            except NotDirectError:
                self._direct = None
        _append(descriptor, buffers)
        return filled + size

    def sync(self, descriptor: int) -> None:
        """Make what was written durable."""
        os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file back to `size`."""
        os.ftruncate(descriptor, size)

    def close(self, descriptor: int) -> None:
        """Close a file."""
        os.close(descriptor)

    def free_bytes(self, directory: Path) -> int:
        """Bytes an unprivileged process may still write."""
        status = os.statvfs(directory)
        return status.f_bavail * status.f_frsize


def _append(descriptor: int, buffers: Sequence[bytes]) -> None:
    """Write in the ordinary way, whatever the kernel takes at a time."""
    rest: list[bytes | memoryview] = list(buffers)
    at = 0
    while at < len(rest):
        written = os.writev(descriptor, rest[at : at + _BUFFERS_A_CALL])
        while at < len(rest) and written >= len(rest[at]):
            written -= len(rest[at])
            at += 1
        if written:
            rest[at] = memoryview(rest[at])[written:]


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
