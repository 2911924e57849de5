"""The index stage sees every stream, frees what it stored, and tells receivers how far it is."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from whyflame.errors import Backpressure, TransientError
from whyflame.journal import (
    JournalTail,
    JournalWriter,
    PendingLimit,
    Position,
    Signal,
    pending_bytes,
    read_applied,
)
from whyflame.journal.reader import JournalReader
from whyflame.journal.segments import list_segments, segment_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.journal import Frame

NOW = 2_000_000_000.0


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    made = JournalWriter(tmp_path, "r0", segment_bytes=300)
    yield made
    made.close()


def append(writer: JournalWriter, *payloads: bytes) -> None:
    for payload in payloads:
        writer.append(payload, signal=Signal.LOGS, received_ns=5)


def test_streams_are_read_side_by_side(tmp_path: Path, writer: JournalWriter) -> None:
    """A stream that appears later is found; frames say where they come from."""
    tail = JournalTail(tmp_path, {})
    append(writer, b"a")
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"a"]
    second = JournalWriter(tmp_path, "r1")
    append(second, b"b")
    append(writer, b"c")
    batch = tail.read(1 << 20)
    assert [(frame.stream, frame.payload) for frame in batch.frames] == [("r0", b"c"), ("r1", b"b")]
    assert set(batch.positions) == {"r0", "r1"}
    second.close()
    tail.close()


@pytest.mark.parametrize("broken", ["r0", "r1"])
def test_a_stream_that_cannot_be_read_costs_the_others_nothing(
    tmp_path: Path, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """However long that lasts, and whichever it is; it is said while nothing else comes."""
    second = JournalWriter(tmp_path, "r1")
    tail, read = JournalTail(tmp_path, {}), JournalReader.read

    def flaky(self: JournalReader, max_bytes: int) -> list[Frame]:
        if self.stream == broken:
            raise OSError("bad sector")
        return read(self, max_bytes)

    with monkeypatch.context() as patch:
        patch.setattr(JournalReader, "read", flaky)
        for number in b"abc":
            append(writer, bytes([number]))
            append(second, bytes([number]))
            (frame,) = tail.read(1 << 20).frames
            assert (frame.stream != broken, frame.payload) == (True, bytes([number]))
            with pytest.raises(TransientError, match=f"{broken} cannot be read: bad sector"):
                tail.read(1 << 20)
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"a", b"b", b"c"]
    second.close()
    tail.close()


def test_what_a_quiet_stream_leaves_goes_to_another(tmp_path: Path, writer: JournalWriter) -> None:
    """A batch is full although a stream beside it has nothing to say."""
    quiet = JournalWriter(tmp_path, "a-quiet")
    append(writer, *[bytes(2000) for _ in range(100)])
    tail = JournalTail(tmp_path, {})
    read = len(tail.read(150_000).frames)
    assert 70 < read < 100
    tail.close()
    quiet.close()


def test_a_restarted_reader_goes_on_where_it_stored(tmp_path: Path, writer: JournalWriter) -> None:
    """Positions of a batch continue exactly, over segments."""
    append(writer, *[bytes([number]) * 100 for number in range(9)])
    tail, seen, positions = JournalTail(tmp_path, {}, retention_seconds=60), [], {}
    while True:
        batch = tail.read(250)
        if not batch.frames:
            break
        seen += [frame.payload[0] for frame in batch.frames]
        positions = batch.positions
        tail.applied(positions, NOW)
        tail.close()
        tail = JournalTail(tmp_path, positions, retention_seconds=60)
    tail.close()
    assert seen == list(range(9))
    assert positions["r0"].segment > 1


def test_indexed_segments_are_deleted(tmp_path: Path, writer: JournalWriter) -> None:
    """Only what lies before the stored position goes; the newest file stays for its number."""
    append(writer, *[b"x" * 200] * 6)
    tail = JournalTail(tmp_path, {})
    batch = tail.read(1 << 20)
    assert len(list_segments(tmp_path / "r0")) == 3
    tail.applied(batch.positions, NOW)
    assert list_segments(tmp_path / "r0") == [batch.positions["r0"].segment]
    assert pending_bytes(tmp_path) == 0
    tail.close()


def test_a_stopped_stream_keeps_no_content(tmp_path: Path) -> None:
    """The last segment is emptied once indexed, and its number is not used again."""
    writer = JournalWriter(tmp_path, "r0")
    append(writer, b"secret prompt")
    writer.close()
    tail = JournalTail(tmp_path, {})
    batch = tail.read(1 << 20)
    tail.applied(batch.positions, NOW)
    assert segment_path(tmp_path / "r0", 1).read_bytes() == b""
    again = JournalWriter(tmp_path, "r0")
    append(again, b"next")
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"next"]
    again.close()
    tail.close()


def test_a_restart_alone_frees_what_was_indexed(tmp_path: Path) -> None:
    """A writer that was killed leaves content behind; it goes though nothing new arrives."""
    killed = JournalWriter(tmp_path, "r0")
    append(killed, b"secret prompt")
    killed.close()
    again = JournalWriter(tmp_path, "r0")
    deadline = time.monotonic() + 10
    while list_segments(tmp_path / "r0") != [1, 2]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    tail = JournalTail(tmp_path, {})
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"secret prompt"]
    tail.applied(tail.read(1 << 20).positions, NOW)
    assert list_segments(tmp_path / "r0") == [2]
    append(again, b"next")
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"next"]
    again.close()
    tail.close()


def test_an_idle_stream_is_sealed_and_freed(tmp_path: Path) -> None:
    """Content of a quiet receiver does not wait for a full segment."""
    writer = JournalWriter(tmp_path, "r0", seal_seconds=0.05)
    append(writer, b"secret prompt")
    tail = JournalTail(tmp_path, {})
    deadline = time.monotonic() + 10
    while list_segments(tmp_path / "r0") != [2]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        tail.applied(tail.read(1 << 20).positions, NOW)
    assert segment_path(tmp_path / "r0", 2).read_bytes() == b""
    writer.close()
    tail.close()


def test_kept_segments_go_by_age_and_by_bytes(tmp_path: Path, writer: JournalWriter) -> None:
    """Retention keeps evidence for its time and within its size."""
    append(writer, *[b"x" * 200] * 8)
    tail = JournalTail(tmp_path, {}, retention_seconds=3600, max_kept_bytes=1 << 20)
    batch = tail.read(1 << 20)
    written = segment_path(tmp_path / "r0", 1).stat().st_mtime
    tail.applied(batch.positions, written + 60)
    assert list_segments(tmp_path / "r0") == [1, 2, 3, 4]
    bounded = JournalTail(tmp_path, batch.positions, retention_seconds=3600, max_kept_bytes=600)
    bounded.applied(batch.positions, written + 60)
    assert list_segments(tmp_path / "r0") == [3, 4]
    tail.applied(batch.positions, written + 4000)
    assert list_segments(tmp_path / "r0") == [4]
    tail.close()


def test_what_was_kept_before_is_spared(tmp_path: Path, writer: JournalWriter) -> None:
    """What a command indexes itself goes, by its own rules."""
    append(writer, *[b"x" * 200] * 4)
    server = JournalTail(tmp_path, {}, retention_seconds=60)
    kept = server.read(1 << 20).positions
    server.applied(kept, NOW - 1e9)
    server.close()
    before = list_segments(tmp_path / "r0")
    append(writer, *[b"x" * 200] * 4)
    tail = JournalTail(tmp_path, kept, spares_kept=True)
    positions = tail.read(1 << 20).positions
    tail.applied(positions, NOW)
    assert list_segments(tmp_path / "r0") == [*before, positions["r0"].segment]
    tail.close()


def test_receivers_refuse_while_too_much_waits(tmp_path: Path, writer: JournalWriter) -> None:
    """The limit holds on bytes not indexed, is lifted by indexing, and one request always fits."""
    now = [0.0]
    limit = PendingLimit(tmp_path, 1000, clock=lambda: now[0])
    assert not limit.is_full
    limit.admit(5000)
    assert limit.is_full
    with pytest.raises(Backpressure):
        limit.admit(1)
    append(writer, b"x" * 900)
    now[0] += 1
    with pytest.raises(Backpressure):
        limit.admit(200)
    tail = JournalTail(tmp_path, {})
    tail.applied(tail.read(1 << 20).positions, NOW)
    now[0] += 1
    limit.admit(200)
    tail.close()


def test_positions_are_published(tmp_path: Path) -> None:
    """Receivers in other processes read what was applied."""
    tail = JournalTail(tmp_path / "new", {})
    tail.applied({"r0": Position(3, 7)}, NOW)
    assert read_applied(tmp_path / "new") == {"r0": Position(3, 7)}
    tail.close()


@pytest.mark.parametrize("position", [Position(1, 10), Position(1, 10_000), Position(7, 40)])
def test_positions_of_another_journal_hide_nothing(tmp_path: Path, position: Position) -> None:
    """A store whose journal is gone (a backup of the database alone) reads the new one whole."""
    tail = JournalTail(tmp_path, {"r0": position})
    writer = JournalWriter(tmp_path, "r0")
    append(writer, b"first", b"second")
    assert pending_bytes(tmp_path) > 0
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"first", b"second"]
    # A crash before anything of it was stored changes nothing.
    again = JournalTail(tmp_path, {"r0": position})
    assert [frame.payload for frame in again.read(1 << 20).frames] == [b"first", b"second"]
    writer.close()
    again.close()
    tail.close()


def test_a_stream_that_is_made_anew_is_read_while_the_store_runs(
    tmp_path: Path, writer: JournalWriter
) -> None:
    """Its numbers begin again below the stored position."""
    tail = JournalTail(tmp_path, {})
    tail.applied({"r1": Position(7, 40)}, NOW)
    tail.close()
    tail = JournalTail(tmp_path, {"r1": Position(7, 40)})
    anew = JournalWriter(tmp_path, "r1")
    assert tail.read(1 << 20).frames == ()
    append(anew, b"first")
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"first"]
    anew.close()
    tail.close()


@pytest.mark.parametrize("left", ["", "{", "[1]", '{"r0": 7}', '{"r0": [1, 2, 3]}', "\x00" * 40])
def test_a_damaged_note_of_what_is_stored_is_no_fault(
    tmp_path: Path, writer: JournalWriter, left: str
) -> None:
    """A power failure can leave it empty: receivers go on, and what is read again is known there."""
    append(writer, b"first")
    (tmp_path / "applied.json").write_text(left)
    PendingLimit(tmp_path, 1 << 20).admit(10)
    tail = JournalTail(tmp_path, {"r0": Position(1, 41)})
    assert [frame.payload for frame in tail.read(1 << 20).frames] == [b"first"]
    tail.close()


def test_a_batch_is_cut_where_one_likes(tmp_path: Path, writer: JournalWriter) -> None:
    """Reading goes on behind the first part of it, whatever stream that ended in."""
    second = JournalWriter(tmp_path, "r1")
    append(writer, b"a", b"b")
    append(second, b"c", b"d")
    tail = JournalTail(tmp_path, {})
    whole = tail.read(1 << 20)
    for number in range(1, 4):
        first, others = whole.split(number, {})
        assert first.frames + others.frames == whole.frames
        assert others.positions == whole.positions
        tail.applied(first.positions, NOW)
        again = JournalTail(tmp_path, first.positions)
        assert again.read(1 << 20).frames == others.frames
        again.close()
    second.close()
    tail.close()


def test_what_is_left_of_a_disk_is_for_storing(
    tmp_path: Path, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a journal that fills its disk could never be stored, and never be freed."""
    now, free = [0.0], [130 << 20]

    def disk(_: object) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=free[0], f_frsize=1, f_blocks=1 << 40)

    append(writer, b"here")
    monkeypatch.setattr("whyflame.journal.pending.os.statvfs", disk)
    limit = PendingLimit(tmp_path, 1 << 30, clock=lambda: now[0])
    limit.admit(2 << 20)
    for size in (0, 1):
        with pytest.raises(Backpressure, match="nearly full"):
            limit.admit(size)
    assert limit.is_full
    now[0], free[0] = 1.0, 140 << 20
    limit.admit(1)
    assert not limit.is_full


def test_a_small_disk_keeps_a_part(
    tmp_path: Path, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(writer, b"here")
    small = SimpleNamespace(f_bavail=30, f_frsize=1 << 20, f_blocks=40)
    monkeypatch.setattr("whyflame.journal.pending.os.statvfs", lambda _: small)
    limit = PendingLimit(tmp_path, 1 << 30)
    limit.admit(20 << 20)
    with pytest.raises(Backpressure, match="nearly full"):
        limit.admit(1)


def test_nothing_is_acknowledged_into_a_directory_that_is_gone(
    tmp_path: Path, writer: JournalWriter
) -> None:
    """What the writer has open could be written, and nobody would find it."""
    append(writer, b"here")
    (tmp_path / "r0").rename(tmp_path.parent / "elsewhere")
    tmp_path.rmdir()
    with pytest.raises(TransientError, match="directory is gone"):
        PendingLimit(tmp_path, 1 << 30).admit(1)
    tmp_path.mkdir()
