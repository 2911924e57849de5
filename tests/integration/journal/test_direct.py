"""Large groups go past the system's cache; what is read does not show it."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from whyflame.errors import Backpressure
from whyflame.journal import JournalReader, JournalTail, JournalWriter, Signal, pending_bytes
from whyflame.journal.direct import DirectWriter
from whyflame.journal.disk import Disk
from whyflame.journal.frame import BLOCK_BYTES
from whyflame.journal.inspect import inspect_journal
from whyflame.journal.segments import segment_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LARGE, SMALL = 300_000, 1_000
# Large and small groups in turn; the largest does not fit the block of memory that is written from.
SIZES = [LARGE, SMALL, SMALL, LARGE, LARGE, 0, SMALL, 9 << 20, SMALL, LARGE]
PAYLOADS = [os.urandom(size) for size in SIZES]


class WatchedDisk(Disk):
    """Notes how many bytes every write added beyond its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.added: list[int] = []

    def write(self, descriptor: int, buffers: Sequence[bytes]) -> int:
        grown = super().write(descriptor, buffers)
        self.added.append(grown - sum(map(len, buffers)))
        return grown


def write_all(journal: Path, disk: Disk | None = None) -> None:
    writer = JournalWriter(journal, "r0", disk=disk)
    for payload in PAYLOADS:
        writer.append(payload, signal=Signal.TRACES, received_ns=1)
    writer.close()


def is_direct_here(folder: Path) -> bool:
    """Whether this file system lets writes pass its cache."""
    descriptor = os.open(folder / "probe", os.O_CREAT | os.O_RDWR)
    try:
        return DirectWriter().append(descriptor, [bytes(BLOCK_BYTES)]) == BLOCK_BYTES
    except Exception:  # noqa: BLE001 - whatever the reason
        return False
    finally:
        os.close(descriptor)


def test_large_and_small_groups_are_read_back(tmp_path: Path) -> None:
    """Nothing is counted as damage, and nothing is left to read behind the last zeros."""
    disk = WatchedDisk()
    write_all(tmp_path, disk)
    reader = JournalReader(tmp_path / "r0")
    assert [frame.payload for frame in reader.read(1 << 30)] == PAYLOADS
    assert reader.losses.skipped_bytes == 0
    size = segment_path(tmp_path / "r0", 1).stat().st_size
    assert reader.position.offset == size
    assert sum(disk.added) > 0 or not is_direct_here(tmp_path)
    assert all(added < 2 * BLOCK_BYTES for added in disk.added)


@pytest.mark.parametrize("room", [1, 5_000, 70_000, 400_000])
def test_reading_in_pieces_passes_the_zeros(tmp_path: Path, room: int) -> None:
    """However much is read at a time, also where a restart goes on behind any frame."""
    write_all(tmp_path)
    reader, seen = JournalReader(tmp_path / "r0"), []
    while frames := reader.read(room):
        seen += frames
    assert [frame.payload for frame in seen] == PAYLOADS
    assert seen[-1].position_after == reader.position
    for at, frame in enumerate(seen):
        again = JournalReader(tmp_path / "r0", frame.position_after)
        assert [later.payload for later in again.read(1 << 30)] == PAYLOADS[at + 1 :]
        assert again.losses.skipped_bytes == 0


def test_nothing_waits_once_all_is_read(tmp_path: Path) -> None:
    """Zeros are neither pending nor damage to those who look at the files."""
    writer = JournalWriter(tmp_path, "r0")
    writer.append(PAYLOADS[0], signal=Signal.TRACES, received_ns=1)
    tail = JournalTail(tmp_path, {})
    batch = tail.read(1 << 30)
    tail.applied(batch.positions, 0.0)
    assert pending_bytes(tmp_path) == 0
    (report,) = inspect_journal(tmp_path)
    assert (report.damaged_bytes, report.pending_bytes) == (0, 0)
    assert report.frames == {"traces": 1}
    writer.close()
    tail.close()


def test_damage_to_one_of_a_group_loses_that_one(tmp_path: Path) -> None:
    """The zeros behind the last frame of a group do not spread it."""
    write_all(tmp_path)
    path = segment_path(tmp_path / "r0", 1)
    data = bytearray(path.read_bytes())
    data[data.index(PAYLOADS[4]) + 7] ^= 1
    path.write_bytes(data)
    reader = JournalReader(tmp_path / "r0")
    assert [f.payload for f in reader.read(1 << 30)] == PAYLOADS[:4] + PAYLOADS[5:]
    assert reader.losses.corrupt_frames == 1


@pytest.mark.parametrize("refused", ["F_SETFL", "write", "read"])
def test_file_systems_that_cannot_are_used_in_the_ordinary_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """Whether they say so when asked, at the first write or at the first read."""
    import fcntl

    from whyflame.journal import direct

    def no(*_: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    if refused == "F_SETFL":
        monkeypatch.setattr(direct, "_O_DIRECT", 1 << 29)
        monkeypatch.setattr(
            fcntl, "fcntl", lambda _fd, command, *_: no() if command == fcntl.F_SETFL else 0
        )
    else:
        monkeypatch.setattr(*(direct, "_write", no) if refused == "write" else (os, "preadv", no))
    write_all(tmp_path)
    assert [frame.payload for frame in JournalReader(tmp_path / "r0").read(1 << 30)] == PAYLOADS


def test_a_disk_that_fills_up_in_between_is_survived(tmp_path: Path) -> None:
    """What was acknowledged is read, what was not is not, and it is a refusal to repeat."""

    class Filling(Disk):
        def write(self, descriptor: int, buffers: Sequence[bytes]) -> int:
            grown = super().write(descriptor, buffers)
            if len(b"".join(buffers)) > 2 * LARGE:
                raise OSError(errno.ENOSPC, "No space left on device")
            return grown

    writer = JournalWriter(tmp_path, "r0", disk=Filling())
    writer.append(PAYLOADS[0], signal=Signal.TRACES, received_ns=1)
    with pytest.raises(Backpressure):
        writer.append(bytes(3 * LARGE), signal=Signal.TRACES, received_ns=1)
    writer.close()
    reader = JournalReader(tmp_path / "r0")
    assert [frame.payload for frame in reader.read(1 << 30)] == PAYLOADS[:1]
    assert reader.losses.skipped_bytes == 0
