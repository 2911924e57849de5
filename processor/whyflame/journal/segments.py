"""Segment files of one stream: names, order, positions.

`<journal>/<stream>/<sequence:012d>.wfj`. One stream has one writer at a time, which holds a lock
on `<journal>/<stream>/lock`; a restarted writer always opens a new segment.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Position", "has_writer", "hold_stream", "list_segments", "list_streams", "segment_path"]

_SEGMENT = re.compile(r"(\d{12})\.wfj")
_STREAM = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LOCK_ATTEMPTS = 20
_LOCK_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a stream: everything before it has been read.

    Attributes:
        segment: Sequence number of the segment file; 0 = before the first one.
        offset: Byte offset in that file.
    """

    segment: int = 0
    offset: int = 0


def segment_path(stream_dir: Path, sequence: int) -> Path:
    """File of one segment."""
    return stream_dir / f"{sequence:012d}.wfj"


def list_segments(stream_dir: Path) -> list[int]:
    """Sequence numbers of the segments that exist, oldest first."""
    try:
        names = [entry.name for entry in stream_dir.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for name in names if (match := _SEGMENT.fullmatch(name)))


def list_streams(journal_dir: Path) -> list[str]:
    """Names of the streams that exist, sorted."""
    try:
        entries = sorted(journal_dir.iterdir())
    except FileNotFoundError:
        return []
    return [entry.name for entry in entries if _STREAM.fullmatch(entry.name) and entry.is_dir()]


def hold_stream(stream_dir: Path) -> int:
    """Lock a stream for writing until the returned descriptor is closed.

    Raises:
        StoreError: Another process writes this stream.
    """
    if not _STREAM.fullmatch(stream_dir.name):
        raise StoreError(f"journal stream name {stream_dir.name!r} must match {_STREAM.pattern}")
    stream_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(stream_dir / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    for _ in range(_LOCK_ATTEMPTS):
        if _try_lock(descriptor, fcntl.LOCK_EX):
            return descriptor
        time.sleep(_LOCK_PAUSE_SECONDS)  # a reader asking `has_writer` holds it for an instant
    os.close(descriptor)
    raise StoreError(
        f"journal stream {stream_dir} is in use: another whyflame runs on this data directory"
    )


def has_writer(stream_dir: Path) -> bool:
    """True while a writer holds the stream."""
    try:
        descriptor = os.open(stream_dir / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
