"""Appends requests to a stream and returns once they are durable.

One writer thread does natural group commit: whatever queued while the previous sync ran is written
and synced together, so the number of syncs adapts to the load without a timer.

After any failed write or sync the segment is never used again: it is cut back to its synced length
(what lies behind was not acknowledged) and the next group opens a new segment. A reader that had
already seen the unsynced bytes therefore never meets other bytes at the same position.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import Backpressure, TransientError
from whyflame.journal.disk import Disk
from whyflame.journal.frame import Encoding, encode_head
from whyflame.journal.segments import hold_stream, list_segments, segment_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whyflame.journal.frame import Signal
    from whyflame.journal.reader import Frame

__all__ = ["JournalWriter"]

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FULL_RETRY_SECONDS = 5.0
_PAUSE_AFTER_FAILURE_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Entry:
    """One frame on its way to the disk."""

    head: bytes
    payload: bytes
    done: threading.Event = field(default_factory=threading.Event)
    failure: TransientError | None = None

    @property
    def size(self) -> int:
        return len(self.head) + len(self.payload)


@dataclass(slots=True, eq=False)
class _Segment:
    """The open segment file."""

    descriptor: int
    opened: float
    synced: int = 0


class JournalWriter:
    """The one writer of a stream. Thread-safe; holds the stream's lock until closed.

    Args:
        journal_dir: Directory of all streams.
        stream: Name of this stream, one a receiver process.
        segment_bytes: Size at which a segment is sealed.
        seal_seconds: Age at which a segment is sealed even when small, so that what is indexed can
            be deleted soon.
        max_queued_bytes: Bytes waiting for their sync above which `append` refuses.
        disk: The operating system, replaced in tests.
    """

    def __init__(
        self,
        journal_dir: Path,
        stream: str,
        *,
        segment_bytes: int = 64 << 20,
        seal_seconds: float = 10.0,
        max_queued_bytes: int = 256 << 20,
        disk: Disk | None = None,
    ) -> None:
        self._directory = journal_dir / stream
        self._segment_bytes = segment_bytes
        self._seal_seconds = seal_seconds
        self._max_queued_bytes = max_queued_bytes
        self._disk = disk or Disk()
        self._lock = hold_stream(self._directory)
        self._sequence = max(list_segments(self._directory), default=0)
        self._segment: _Segment | None = None
        self._failed_at: float | None = None
        self._queue: list[_Entry] = []
        self._queued_bytes = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"journal-{stream}", daemon=True)
        self._thread.start()

    def append(
        self,
        payload: bytes,
        *,
        signal: Signal,
        received_ns: int,
        tenant: str = "",
        encoding: Encoding = Encoding.PROTOBUF,
        timeout_seconds: float = 60.0,
    ) -> None:
        """Return when the frame is on disk.

        Raises:
            Backpressure: Too many bytes are waiting, or the disk is full.
            TransientError: The disk failed or did not answer in time, or the writer is closed. The
                frame may still become readable; senders repeat it and repeats are dropped later.
        """
        head = encode_head(
            payload, signal=signal, encoding=encoding, tenant=tenant, received_ns=received_ns
        )
        entry = _Entry(head, payload)
        self._enqueue(entry)
        self._wait(entry, timeout_seconds)

    def append_all(self, frames: Iterable[Frame], timeout_seconds: float = 60.0) -> None:
        """Return when all these frames, as another stream holds them, are on disk; they share syncs.

        Raises:
            Backpressure: Too many bytes are waiting, or the disk is full.
            TransientError: The disk failed or did not answer in time; some frames may be there.
        """
        entries = [_Entry(_head_of(frame), frame.payload) for frame in frames]
        for entry in entries:
            self._enqueue(entry)
        for entry in entries:
            self._wait(entry, timeout_seconds)

    def close(self) -> None:
        """Sync what is queued, refuse what comes later, release the stream. Safe to repeat."""
        with self._changed:
            already = self._closing
            self._closing = True
            self._changed.notify()
        self._thread.join()
        if not already:
            os.close(self._lock)

    @staticmethod
    def _wait(entry: _Entry, timeout_seconds: float) -> None:
        if not entry.done.wait(timeout_seconds):
            raise TransientError(f"journal did not sync within {timeout_seconds:g} s")
        if entry.failure is not None:
            raise entry.failure

    def _enqueue(self, entry: _Entry) -> None:
        with self._changed:
            if self._closing:
                raise TransientError("the receiver is stopping")
            if self._queued_bytes and self._queued_bytes + entry.size > self._max_queued_bytes:
                raise Backpressure("too many bytes wait for the journal's disk")
            self._queue.append(entry)
            self._queued_bytes += entry.size
            self._changed.notify()
        telemetry.JOURNAL_QUEUED_BYTES.add(entry.size)

    def _run(self) -> None:
        self._end_former_segment()
        while True:
            group, closing = self._take()
            if group:
                self._commit(group)
            self._seal_when_old()
            if closing and not group:
                break
        if self._segment is not None:
            self._disk.close(self._segment.descriptor)

    def _take(self) -> tuple[list[_Entry], bool]:
        with self._changed:
            if not self._queue and not self._closing:
                self._changed.wait(self._seal_seconds / 2 if self._segment else None)
            group, self._queue = self._queue, []
            size, self._queued_bytes = self._queued_bytes, 0
            is_closing = self._closing
        telemetry.JOURNAL_QUEUED_BYTES.add(-size)
        return group, is_closing

    def _commit(self, group: list[_Entry]) -> None:
        failure: TransientError | None = None
        size = sum(entry.size for entry in group)
        try:
            self._write(group, size)
        except TransientError as error:
            failure = error
        except OSError as error:
            failure = self._abandon_segment(error)
        except BaseException as error:  # noqa: BLE001 - a sender must never wait for ever
            failure = TransientError(f"journal writer failed: {type(error).__name__}")
        for entry in group:
            entry.failure = failure
            entry.done.set()
        if failure is None:
            telemetry.JOURNAL_WRITTEN_BYTES.add(size)
            telemetry.JOURNAL_GROUP_FRAMES.observe(len(group))

    def _write(self, group: list[_Entry], size: int) -> None:
        segment = self._open_segment(size)
        began = time.monotonic()
        buffers = [part for entry in group for part in (entry.head, entry.payload)]
        grown = self._disk.write(segment.descriptor, buffers)
        self._disk.sync(segment.descriptor)
        segment.synced += grown
        telemetry.JOURNAL_SYNC_SECONDS.observe(time.monotonic() - began)

    def _open_segment(self, size: int) -> _Segment:
        """The segment to append to: the open one, or a new one when it is full or was given up."""
        if self._segment is not None and self._segment.synced >= self._segment_bytes:
            self._close_segment()
        if self._segment is None:
            if self._failed_at is not None:
                self._check_recovered(self._failed_at, size)
            # Counted up even when creating fails: a sequence number is never used twice.
            self._sequence += 1
            path = segment_path(self._directory, self._sequence)
            self._segment = _Segment(self._disk.create(path), time.monotonic())
            self._failed_at = None
        return self._segment

    def _check_recovered(self, failed_at: float, size: int) -> None:
        """Refuse without touching the disk while it cannot have recovered."""
        waited = time.monotonic() - failed_at
        if waited < _PAUSE_AFTER_FAILURE_SECONDS or self._disk.free_bytes(self._directory) < size:
            raise Backpressure("the journal's disk is full or failing", _FULL_RETRY_SECONDS)

    def _abandon_segment(self, error: OSError) -> TransientError:
        self._failed_at = time.monotonic()
        if self._segment is not None:
            # Should this fail too, readers recognise the unfinished tail by its checksum.
            with contextlib.suppress(OSError):
                self._disk.truncate(self._segment.descriptor, self._segment.synced)
            self._close_segment()
        if error.errno in _DISK_FULL:
            telemetry.JOURNAL_FAILURES.add(1, "disk_full")
            return Backpressure("the journal's disk is full", _FULL_RETRY_SECONDS)
        telemetry.JOURNAL_FAILURES.add(1, "io_error")
        return TransientError(f"the journal's disk failed: {error.strerror or error}")

    def _end_former_segment(self) -> None:
        """Let what was written before a restart be deleted once indexed, though nothing new comes."""
        former = segment_path(self._directory, self._sequence)
        if self._sequence and former.stat().st_size:
            self._open_next()

    def _seal_when_old(self) -> None:
        segment = self._segment
        if segment is None or not segment.synced:
            return
        if time.monotonic() - segment.opened < self._seal_seconds:
            return
        self._close_segment()
        self._open_next()

    def _open_next(self) -> None:
        """Open a segment now: its existence is what tells readers that the one before is complete."""
        try:
            self._open_segment(0)
        except (OSError, TransientError):
            self._failed_at = time.monotonic()

    def _close_segment(self) -> None:
        if self._segment is not None:
            descriptor, self._segment = self._segment.descriptor, None
            with contextlib.suppress(OSError):  # everything acknowledged was synced before
                self._disk.close(descriptor)


def _head_of(frame: Frame) -> bytes:
    return encode_head(
        frame.payload,
        signal=frame.signal,
        encoding=frame.encoding,
        tenant=frame.tenant,
        received_ns=frame.received_ns,
    )
