"""What `append` returned for is on disk, whatever the disk does."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from whyflame.errors import Backpressure, StoreError, TransientError
from whyflame.journal import Encoding, Frame, JournalReader, JournalWriter, Position, Signal
from whyflame.journal.disk import Disk
from whyflame.journal.segments import list_segments

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def append(writer: JournalWriter, payload: bytes) -> None:
    writer.append(payload, signal=Signal.TRACES, received_ns=1)


def read_payloads(journal: Path) -> list[bytes]:
    reader = JournalReader(journal / "r0")
    payloads = [frame.payload for frame in reader.read(1 << 30)]
    reader.close()
    return payloads


class SmallDisk(Disk):
    """A disk that takes so many bytes and then is full, in the middle of a write."""

    def __init__(self, capacity: int, error: int = errno.ENOSPC) -> None:
        self.capacity = capacity
        self.error = error
        self.syncs = 0
        self.blocked = threading.Event()
        self.blocked.set()

    def write(self, descriptor: int, buffers: Sequence[bytes]) -> int:
        data = b"".join(buffers)
        os.write(descriptor, data[: self.capacity])
        if len(data) > self.capacity:
            self.capacity = 0
            raise OSError(self.error, os.strerror(self.error))
        self.capacity -= len(data)
        return len(data)

    def sync(self, descriptor: int) -> None:
        self.blocked.wait(10)
        self.syncs += 1
        super().sync(descriptor)

    def free_bytes(self, directory: Path) -> int:  # noqa: ARG002
        return self.capacity


@pytest.fixture
def small_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try a failed disk again at once."""
    monkeypatch.setattr("whyflame.journal.writer._PAUSE_AFTER_FAILURE_SECONDS", 0.0)


def test_appended_frames_are_read_in_order(tmp_path: Path) -> None:
    """One thread's frames keep their order; segments rotate at their size."""
    writer = JournalWriter(tmp_path, "r0", segment_bytes=100)
    payloads = [bytes([number]) * 40 for number in range(10)]
    for payload in payloads:
        append(writer, payload)
    writer.close()
    assert read_payloads(tmp_path) == payloads
    assert len(list_segments(tmp_path / "r0")) > 3


def test_what_queues_during_a_sync_is_synced_together(tmp_path: Path) -> None:
    """Natural group commit: far fewer syncs than requests under load."""
    disk = SmallDisk(1 << 20)
    writer = JournalWriter(tmp_path, "r0", disk=disk)
    disk.blocked.clear()
    with ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(append, writer, b"")]
        while writer._segment is None:
            time.sleep(0.001)
        sent += [pool.submit(append, writer, b"x" * number) for number in range(1, 20)]
        while len(writer._queue) < 19:
            time.sleep(0.001)
        disk.blocked.set()
        for one in sent:
            one.result(10)
    writer.close()
    assert len(read_payloads(tmp_path)) == 20
    assert disk.syncs == 2


def test_frames_of_another_stream_are_kept_together(tmp_path: Path) -> None:
    """They come out as they were: tenant, signal, time, bytes."""
    writer = JournalWriter(tmp_path, "r0")
    frames = [
        Frame("x", f"t{n}", Signal.LOGS, Encoding.PROTOBUF, n, b"x" * n, Position())
        for n in range(100)
    ]
    writer.append_all(frames)
    writer.append_all([])
    writer.close()
    read = JournalReader(tmp_path / "r0").read(1 << 20)
    kept = [(f.tenant, f.signal, f.received_ns, f.payload) for f in read]
    assert kept == [(f.tenant, f.signal, f.received_ns, f.payload) for f in frames]


def test_a_full_disk_refuses_and_recovers(tmp_path: Path, small_pause: None) -> None:
    """The refused frame is not readable, what was acknowledged is, and later ones pass again."""
    disk = SmallDisk(250)
    writer = JournalWriter(tmp_path, "r0", disk=disk)
    append(writer, b"a" * 100)
    for _ in range(3):
        with pytest.raises(Backpressure) as caught:
            append(writer, b"b" * 200)
        assert caught.value.retry_after_seconds > 0
    assert read_payloads(tmp_path) == [b"a" * 100]
    disk.capacity = 1000
    append(writer, b"c" * 100)
    writer.close()
    assert read_payloads(tmp_path) == [b"a" * 100, b"c" * 100]
    assert len(list_segments(tmp_path / "r0")) == 2


def test_an_io_error_is_retryable_and_the_file_is_given_up(
    tmp_path: Path, small_pause: None
) -> None:
    """After a failed write the segment is never appended to again."""
    disk = SmallDisk(50, errno.EIO)
    writer = JournalWriter(tmp_path, "r0", disk=disk)
    with pytest.raises(TransientError):
        append(writer, b"a" * 100)
    disk.capacity = 1000
    append(writer, b"b")
    writer.close()
    assert read_payloads(tmp_path) == [b"b"]
    assert list_segments(tmp_path / "r0") == [1, 2]


def test_the_kernels_own_limit_is_survived(tmp_path: Path) -> None:
    """A real refusal by the kernel (file size limit) in the middle of a request."""
    script = """
import resource, sys, pathlib
from whyflame.errors import Backpressure
from whyflame.journal import JournalWriter, Signal
writer = JournalWriter(pathlib.Path(sys.argv[1]), "r0")
accepted = 0
# In the child's own code: what runs between fork and exec shares the locks of the parent's threads.
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (95_000, most))
for number in range(50):
    try:
        writer.append(bytes([number]) * 10_000, signal=Signal.TRACES, received_ns=1)
        accepted += 1
    except Backpressure:
        break
print(accepted)
writer.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.split() == ["9"], done.stderr
    assert read_payloads(tmp_path) == [bytes([number]) * 10_000 for number in range(9)]


def test_bytes_waiting_for_the_disk_are_bounded(tmp_path: Path) -> None:
    """While the disk hangs, requests beyond the bound are refused at once."""
    disk = SmallDisk(1 << 20)
    writer = JournalWriter(tmp_path, "r0", disk=disk, max_queued_bytes=500)
    disk.blocked.clear()
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(append, writer, b"x" * 200) for _ in range(8)]
        refused = 0
        for one in sent[4:]:
            try:
                one.result(0.3)
            except Backpressure:
                refused += 1
            except TimeoutError:
                pass
        disk.blocked.set()
    writer.close()
    assert refused >= 1


def test_a_stream_has_one_writer(tmp_path: Path) -> None:
    """A second writer is told that the data directory is in use; a closed one frees it."""
    writer = JournalWriter(tmp_path, "r0")
    with pytest.raises(StoreError, match="in use"):
        JournalWriter(tmp_path, "r0")
    writer.close()
    writer.close()
    JournalWriter(tmp_path, "r0").close()


def test_a_restarted_writer_opens_a_new_segment(tmp_path: Path) -> None:
    """Nothing is ever appended behind a torn tail."""
    for payload in (b"a", b"b"):
        writer = JournalWriter(tmp_path, "r0")
        append(writer, payload)
        writer.close()
    assert list_segments(tmp_path / "r0") == [1, 2]
    assert read_payloads(tmp_path) == [b"a", b"b"]


def test_a_closed_writer_refuses_as_retryable(tmp_path: Path) -> None:
    """What comes after the stop is repeated elsewhere or later."""
    writer = JournalWriter(tmp_path, "r0")
    writer.close()
    with pytest.raises(TransientError):
        append(writer, b"late")
