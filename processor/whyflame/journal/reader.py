"""Reads one stream from a position on, over damage, while its writer goes on."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.journal.direct import DIRECT_BYTES, DirectReader, NotDirectError
from whyflame.journal.frame import (
    BLOCK_BYTES,
    HEADER_BYTES,
    find_header,
    is_intact,
    padding_bytes,
    read_header,
)
from whyflame.journal.segments import Position, has_writer, list_segments, segment_path

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.journal.frame import Encoding, Header, Signal

__all__ = ["Frame", "JournalReader", "Losses"]

_SMALLEST_READ = 64 << 10
_START = Position()


@dataclass(frozen=True, slots=True)
class Frame:
    """One request as it was received.

    Attributes:
        position_after: Where reading goes on once this frame is stored.
    """

    stream: str
    tenant: str
    signal: Signal
    encoding: Encoding
    received_ns: int
    payload: bytes
    position_after: Position


@dataclass(slots=True)
class Losses:
    """What a reader had to skip.

    Attributes:
        corrupt_frames: Damaged records; several in a row with damaged headers count as one.
        torn_tails: Frames never finished (power loss, kill); they were not acknowledged.
        skipped_bytes: Bytes of both.
    """

    corrupt_frames: int = 0
    torn_tails: int = 0
    skipped_bytes: int = 0


class JournalReader:
    """Reads the frames of one stream in order. Not thread-safe.

    Args:
        stream_dir: Directory of the stream.
        position: Where to begin; a segment that is gone means the oldest one after it.
    """

    def __init__(self, stream_dir: Path, position: Position = _START) -> None:
        self.stream = stream_dir.name
        self.losses = Losses()
        self._directory = stream_dir
        self._position = self._existing(position)
        self._file: int | None = None
        self._direct: DirectReader | None = DirectReader()

    @property
    def position(self) -> Position:
        """Everything before it was returned or skipped."""
        return self._position

    def read(self, max_bytes: int) -> list[Frame]:
        """The next frames, up to about `max_bytes` of them; empty when there is nothing now.

        A single frame larger than `max_bytes` is returned alone. The position may move without
        frames (damage skipped, next segment begun).
        """
        frames: list[Frame] = []
        room = max_bytes
        if self._file is None:
            self._position = self._existing(self._position)
        while room > 0:
            began = self._position
            # Asked before reading: what is written after the answer must not be passed over.
            is_sealed = self._is_sealed()
            found = self._read_segment(room, is_sealed=is_sealed)
            frames += found
            room -= sum(HEADER_BYTES + len(frame.payload) for frame in found)
            moved = bool(found) or self._position != began
            if not moved and not (is_sealed and self._next_segment()):
                break
        if self._direct is not None and not frames:
            self._direct.release()
        return frames

    def close(self) -> None:
        """Close the open segment file. Reading may go on afterwards."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _existing(self, position: Position) -> Position:
        """The position itself, or the nearest one that exists."""
        segments = list_segments(self._directory)
        if position.segment in segments or not segments:
            return position
        later = [sequence for sequence in segments if sequence > position.segment]
        # Only lower ones: the journal was replaced by another one, which is read from its start.
        return Position(later[0] if later else segments[0], 0)

    def _is_sealed(self) -> bool:
        segments = list_segments(self._directory)
        if segments and segments[-1] > self._position.segment:
            return True
        return not has_writer(self._directory)

    def _next_segment(self) -> bool:
        current = self._position.segment
        later = [number for number in list_segments(self._directory) if number > current]
        if not later:
            return False
        self.close()
        self._position = Position(later[0], 0)
        return True

    def _open(self) -> int | None:
        if self._file is None:
            try:
                self._file = os.open(
                    segment_path(self._directory, self._position.segment),
                    os.O_RDONLY | os.O_CLOEXEC,
                )
            except FileNotFoundError:
                return None
        return self._file

    def _read_segment(self, max_bytes: int, *, is_sealed: bool) -> list[Frame]:
        descriptor = self._open()
        if descriptor is None:
            return []
        offset = self._position.offset
        data = self._read_blocks(descriptor, max(max_bytes, _SMALLEST_READ), offset)
        frames: list[Frame] = []
        # Of a position in front of them.
        at = padding_bytes(data, 0, offset)
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if header is None or at + header.frame_bytes > len(data):
                break
            end = at + header.frame_bytes
            end += padding_bytes(data, end, offset)
            if is_intact(header, data, at):
                frames.append(self._frame(header, data, at, offset + end))
            elif is_sealed or self._is_followed(descriptor, offset + end):
                self._lose("corrupt", header.frame_bytes)
            else:
                break  # the newest frame of a live stream: its last bytes may still come
            at = end
        if at == 0 and data:
            return self._read_irregular(descriptor, data, is_sealed=is_sealed)
        self._position = replace(self._position, offset=offset + at)
        return frames

    def _read_blocks(self, descriptor: int, size: int, offset: int) -> bytes | memoryview:
        """What stands there, up to the end of a block: what fills it is seen with its frame."""
        size = min(size, max(0, os.fstat(descriptor).st_size - offset))
        size += -(offset + size) % BLOCK_BYTES
        if self._direct is not None and size >= DIRECT_BYTES:
            try:
                return self._direct.read(descriptor, size, offset)
            except NotDirectError:
                self._direct = None
        return os.pread(descriptor, size, offset)

    def _read_irregular(
        self, descriptor: int, data: bytes | memoryview, *, is_sealed: bool
    ) -> list[Frame]:
        """The buffer does not begin with a whole frame: a large one, an unfinished one, damage."""
        offset = self._position.offset
        size = os.fstat(descriptor).st_size
        header = read_header(data, 0) if len(data) >= HEADER_BYTES else None
        if header is not None and len(data) < header.frame_bytes <= size - offset:
            return self._read_segment(header.frame_bytes, is_sealed=is_sealed)
        if header is None:
            rest = bytes(data) if offset + len(data) >= size else os.pread(descriptor, size, offset)
            resumed = find_header(rest, 1)
            if resumed is not None:
                self._lose("corrupt", resumed)
                self._position = replace(self._position, offset=offset + resumed)
                return []
        if is_sealed:
            is_torn = header is not None or len(data) < HEADER_BYTES or not any(data)
            self._lose("torn" if is_torn else "corrupt", size - offset)
            self._position = replace(self._position, offset=size)
        return []

    def _is_followed(self, descriptor: int, offset: int) -> bool:
        return os.fstat(descriptor).st_size > offset

    def _frame(self, header: Header, data: bytes | memoryview, at: int, ends: int) -> Frame:
        payload_at = at + HEADER_BYTES + header.tenant_bytes
        return Frame(
            stream=self.stream,
            tenant=bytes(data[at + HEADER_BYTES : payload_at]).decode(errors="replace"),
            signal=header.signal,
            encoding=header.encoding,
            received_ns=header.received_ns,
            payload=bytes(data[payload_at : payload_at + header.payload_bytes]),
            position_after=Position(self._position.segment, ends),
        )

    def _lose(self, reason: str, count_bytes: int) -> None:
        if reason == "corrupt":
            self.losses.corrupt_frames += 1
        else:
            self.losses.torn_tails += 1
        self.losses.skipped_bytes += count_bytes
        telemetry.JOURNAL_LOST_FRAMES.add(1, reason)
        telemetry.JOURNAL_LOST_BYTES.add(count_bytes, reason)
