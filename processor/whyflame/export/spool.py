"""Requests on their way to a forwarder: one signal, on disk, bounded, in order of arrival.

A spool is a journal of its own, so what it holds survives `kill -9` and power loss. Its position is
published after requests were delivered: after a crash a few are sent again, none is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.journal import (
    JournalReader,
    JournalWriter,
    Position,
    pending_bytes,
    publish_applied,
    read_applied,
)
from whyflame.journal.frame import HEADER_BYTES
from whyflame.journal.segments import list_segments, segment_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whyflame.journal import Frame

__all__ = ["Spool"]

_STREAM = "spool"
_SEGMENT_BYTES = 16 << 20


class Spool:
    """One thread writes, another reads.

    Args:
        directory: Of this spool alone; made when absent.
        max_bytes: Above this new requests are turned away.
    """

    def __init__(self, directory: Path, max_bytes: int) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._directory = directory
        self._stream = directory / _STREAM
        self._max_bytes = max_bytes
        self._writer = JournalWriter(directory, _STREAM, segment_bytes=_SEGMENT_BYTES)
        self._published = read_applied(directory).get(_STREAM, Position())
        self._reader = JournalReader(self._stream, self._published)

    @property
    def position(self) -> Position:
        """Where reading goes on."""
        return self._reader.position

    def waiting_bytes(self) -> int:
        """Bytes that are not delivered yet."""
        return pending_bytes(self._directory)

    def put(self, frames: Iterable[Frame]) -> int:
        """Keep requests until they are delivered; returns when they are on disk.

        Returns:
            How many found no room.

        Raises:
            TransientError: The disk failed or is full.
        """
        room = self._max_bytes - self.waiting_bytes()
        taken, refused = [], 0
        for frame in frames:
            size = HEADER_BYTES + len(frame.tenant) + len(frame.payload)
            if size > room:
                refused += 1
                continue
            room -= size
            taken.append(frame)
        if taken:
            self._writer.append_all(taken)
        return refused

    def read(self, max_bytes: int) -> list[Frame]:
        """The next requests; none when there are no more now."""
        return self._reader.read(max_bytes)

    def advance(self, position: Position) -> None:
        """Everything before the position is done with: it is never read again."""
        if position == self._published:
            return
        publish_applied(self._directory, {_STREAM: position})
        self._published = position
        # The segment of the position stays, so that its number is never used again.
        for sequence in list_segments(self._stream):
            if sequence < position.segment:
                segment_path(self._stream, sequence).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; what waits stays."""
        self._writer.close()
        self._reader.close()
