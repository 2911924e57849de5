"""All streams of a journal together: what the index stage reads from and acknowledges to."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import TransientError
from whyflame.journal.reader import JournalReader, Losses
from whyflame.journal.segments import (
    Position,
    has_writer,
    list_segments,
    list_streams,
    segment_path,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whyflame.journal.reader import Frame

__all__ = ["Batch", "JournalTail", "pending_bytes", "publish_applied", "read_applied"]

_APPLIED = "applied.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Frames read together.

    Attributes:
        frames: In stream order; streams one after the other.
        positions: Where each stream stands after these frames; store them in the transaction that
            stores the rows.
    """

    frames: tuple[Frame, ...]
    positions: dict[str, Position]

    def split(self, number: int, before: Mapping[str, Position]) -> tuple[Batch, Batch]:
        """The first so many frames, and the others, each with where its streams stand then.

        Args:
            number: Of frames in the first part. before: Where streams stood before this batch.
        """
        first, others = self.frames[:number], self.frames[number:]
        waiting = {frame.stream for frame in others}
        reached = {
            name: before.get(name, Position()) if name in waiting else place
            for name, place in self.positions.items()
        }
        reached |= {f.stream: f.position_after for f in first if f.stream in waiting}
        return Batch(first, reached), Batch(others, self.positions)


class JournalTail:
    """Reads every stream, those that appear later included. Not thread-safe.

    Args:
        journal_dir: Directory of all streams; it may not exist yet.
        positions: Stored positions by stream; others begin at their oldest segment, and so do those
            that this journal never published: they are of another one, of which only the store is left.
        retention_seconds: Keep indexed segments this long; 0 deletes them at once.
        max_kept_bytes: Keep at most this much of indexed segments.
        spares_kept: Delete nothing that was indexed and kept before: that is for the server to judge,
            whose configuration a command need not have.
    """

    def __init__(
        self,
        journal_dir: Path,
        positions: Mapping[str, Position],
        *,
        retention_seconds: float = 0.0,
        max_kept_bytes: int = 8 << 30,
        spares_kept: bool = False,
    ) -> None:
        self._directory = journal_dir
        self._retention_seconds = retention_seconds
        self._max_kept_bytes = max_kept_bytes
        published = read_applied(journal_dir)
        self._stored = {name: place for name, place in positions.items() if name in published}
        self._spared = self._stored if spares_kept else {}
        self._readers: dict[str, JournalReader] = {}
        publish_applied(journal_dir, self._stored)

    @property
    def directory(self) -> Path:
        """Of all streams."""
        return self._directory

    @property
    def positions(self) -> dict[str, Position]:
        """Where each stream stands now, read frames included."""
        return self._stored | {name: reader.position for name, reader in self._readers.items()}

    @property
    def losses(self) -> Losses:
        """What had to be skipped since this object was made, over all streams."""
        total = Losses()
        for reader in self._readers.values():
            total.corrupt_frames += reader.losses.corrupt_frames
            total.torn_tails += reader.losses.torn_tails
            total.skipped_bytes += reader.losses.skipped_bytes
        return total

    def ends(self) -> dict[str, Position]:
        """Where each stream ends now: what was acknowledged so far lies before it."""
        found = {}
        for name in list_streams(self._directory):
            for sequence in list_segments(self._directory / name)[-1:]:
                # Deleted while we looked: then all that was in it is stored.
                with suppress(FileNotFoundError):
                    size = segment_path(self._directory / name, sequence).stat().st_size
                    found[name] = Position(sequence, size)
        return found

    def read(self, max_bytes: int) -> Batch:
        """The next frames of all streams, about `max_bytes` in total; no frames when idle.

        Positions may move without frames; pass them on all the same.

        Raises:
            TransientError: A stream cannot be read now, and the others have nothing.
        """
        self._discover()
        frames: list[Frame] = []
        fault: TransientError | None = None
        room = max_bytes
        # Each an equal share; what a quiet stream leaves goes to those after it.
        for left, name in zip(range(len(self._readers), 0, -1), sorted(self._readers), strict=True):
            try:
                found = self._readers[name].read(max(1, room // left))
            except OSError as error:
                # The others go on, and what they read is handed out: their readers have moved past it.
                fault = TransientError(f"journal stream {name} cannot be read: {error}")
                fault.__cause__ = error
                continue
            room -= sum(len(frame.payload) for frame in found)
            frames += found
        if fault is not None:
            if not frames:
                raise fault
            telemetry.STAGE_FAILURES.add(1, "index")
        return Batch(tuple(frames), self.positions)

    def applied(self, positions: Mapping[str, Position], now_seconds: float) -> None:
        """Call after the commit that stored `positions`: frees disk, and lets receivers accept.

        Args:
            positions: As stored, `Batch.positions`.
            now_seconds: Seconds since the epoch, to judge the age of kept segments.
        """
        publish_applied(self._directory, positions)
        telemetry.JOURNAL_PENDING_BYTES.set(pending_bytes(self._directory))
        for stream, position in positions.items():
            self._delete_indexed(stream, position, now_seconds)

    def close(self) -> None:
        """Close open files."""
        for reader in self._readers.values():
            reader.close()

    def _discover(self) -> None:
        for name in list_streams(self._directory):
            if name not in self._readers:
                start = self._stored.get(name, Position())
                self._readers[name] = JournalReader(self._directory / name, start)

    def _delete_indexed(self, stream: str, position: Position, now_seconds: float) -> None:
        """Delete what lies before the position, by age and bytes.

        The segment of the position itself stays, so that a restarted writer, which counts up from
        the newest file, can never reuse a number at or below a stored position.
        """
        directory = self._directory / stream
        keeps = self._retention_seconds > 0
        kept = 0
        spared = self._spared.get(stream, Position()).segment
        segments = [number for number in list_segments(directory) if number > spared]
        for sequence in sorted((n for n in segments if n < position.segment), reverse=True):
            path = segment_path(directory, sequence)
            status = path.stat()
            kept += status.st_size
            is_old = now_seconds - status.st_mtime >= self._retention_seconds
            if not keeps or is_old or kept > self._max_kept_bytes:
                path.unlink(missing_ok=True)
        if not keeps and segments and segments[-1] == position.segment:
            _empty_finished(directory, position)


def _empty_finished(directory: Path, position: Position) -> None:
    """Empty the last segment of a stopped stream once it is indexed; its name keeps the count."""
    path = segment_path(directory, position.segment)
    size = path.stat().st_size
    if 0 < size <= position.offset and not has_writer(directory):
        os.truncate(path, 0)


def publish_applied(journal_dir: Path, positions: Mapping[str, Position]) -> None:
    """Tell receivers how far the store is, in `<journal>/applied.json`, atomically."""
    journal_dir.mkdir(parents=True, exist_ok=True)
    content = {name: [place.segment, place.offset] for name, place in sorted(positions.items())}
    fresh = journal_dir / f"{_APPLIED}.{os.getpid()}"
    fresh.write_text(json.dumps(content), encoding="ascii")
    fresh.replace(journal_dir / _APPLIED)


def read_applied(journal_dir: Path) -> dict[str, Position]:
    """What `publish_applied` wrote last; empty before the first time, or when it is damaged."""
    try:
        content = json.loads((journal_dir / _APPLIED).read_text(encoding="ascii"))
        return {name: Position(*place) for name, place in content.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        # A power failure can leave it empty. Without it all counts as not stored, and is found there.
        return {}


def pending_bytes(journal_dir: Path) -> int:
    """Bytes in all streams behind the published positions."""
    applied = read_applied(journal_dir)
    total = 0
    for stream in list_streams(journal_dir):
        position = applied.get(stream, Position())
        for sequence in list_segments(journal_dir / stream):
            if sequence < position.segment:
                continue
            try:
                size = segment_path(journal_dir / stream, sequence).stat().st_size
            except FileNotFoundError:
                continue  # deleted while we counted
            read = position.offset if sequence == position.segment else 0
            total += max(0, size - read)
    return total
