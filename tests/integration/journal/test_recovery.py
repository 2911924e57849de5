"""Whatever happens to a segment file, only what was hit is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from whyflame.journal import Encoding, JournalReader, Position, Signal
from whyflame.journal.frame import encode_head
from whyflame.journal.segments import hold_stream, segment_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAYLOADS = [b"first", b"", b"third " * 10, b"\xf5WJ\x01 looks like a marker", b"fifth"]


def make_frame(payload: bytes) -> bytes:
    head = encode_head(
        payload, signal=Signal.TRACES, encoding=Encoding.PROTOBUF, tenant="t", received_ns=1
    )
    return head + payload


FRAMES = [make_frame(payload) for payload in PAYLOADS]
WHOLE = b"".join(FRAMES)
ENDS = [sum(len(frame) for frame in FRAMES[: number + 1]) for number in range(len(FRAMES))]


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    directory = tmp_path / "r0"
    directory.mkdir()
    return directory


def read_all(stream: Path) -> tuple[list[bytes], JournalReader]:
    reader = JournalReader(stream)
    payloads = [frame.payload for frame in reader.read(1 << 20)]
    reader.close()
    return payloads, reader


@pytest.fixture
def writer_lives(stream: Path) -> Iterator[None]:
    """Somebody holds the stream for writing."""
    import os

    lock = hold_stream(stream)
    yield
    os.close(lock)


def test_a_tail_torn_at_any_byte_loses_only_the_torn_frame(stream: Path) -> None:
    """After a crash whole frames are read, the unfinished one is skipped, the next file follows."""
    for cut in range(len(WHOLE)):
        segment_path(stream, 1).write_bytes(WHOLE[:cut])
        segment_path(stream, 2).write_bytes(FRAMES[0])
        payloads, reader = read_all(stream)
        whole = sum(end <= cut for end in ENDS)
        assert payloads == [*PAYLOADS[:whole], PAYLOADS[0]], cut
        is_torn = cut not in {0, *ENDS}
        assert reader.losses.torn_tails == is_torn
        assert reader.losses.corrupt_frames == 0
        assert reader.position == Position(2, len(FRAMES[0]))


@pytest.mark.usefixtures("writer_lives")
def test_the_tail_of_a_living_writer_is_waited_for(stream: Path) -> None:
    """A frame cut at any byte is read once the rest of it arrives."""
    for cut in range(len(WHOLE)):
        segment_path(stream, 1).write_bytes(WHOLE[:cut])
        reader = JournalReader(stream)
        payloads = [frame.payload for frame in reader.read(1 << 20)]
        assert reader.read(1 << 20) == []
        with segment_path(stream, 1).open("ab") as file:
            file.write(WHOLE[cut:])
        payloads += [frame.payload for frame in reader.read(1 << 20)]
        reader.close()
        assert payloads == PAYLOADS
        assert reader.losses.skipped_bytes == 0


def test_a_changed_byte_anywhere_loses_exactly_its_frame(stream: Path) -> None:
    """Reading goes on at the next frame; the loss is counted once."""
    for at in range(len(WHOLE)):
        damaged = bytearray(WHOLE)
        damaged[at] ^= 0x41
        segment_path(stream, 1).write_bytes(damaged)
        payloads, reader = read_all(stream)
        hit = sum(end <= at for end in ENDS)
        assert payloads == PAYLOADS[:hit] + PAYLOADS[hit + 1 :], at
        assert (reader.losses.corrupt_frames, reader.losses.torn_tails) == (1, 0)
        assert reader.losses.skipped_bytes == len(FRAMES[hit])


@pytest.mark.usefixtures("writer_lives")
def test_damage_in_a_living_stream_is_passed_once_more_arrives(stream: Path) -> None:
    """The last frame of a live file may still be coming; a frame behind it settles that."""
    for at in range(len(FRAMES[0])):
        damaged = bytearray(FRAMES[0])
        damaged[at] ^= 0x41
        segment_path(stream, 1).write_bytes(damaged)
        reader = JournalReader(stream)
        assert reader.read(1 << 20) == []
        with segment_path(stream, 1).open("ab") as file:
            file.write(FRAMES[2])
        assert [frame.payload for frame in reader.read(1 << 20)] == [PAYLOADS[2]]
        assert reader.losses.corrupt_frames == 1
        reader.close()


def test_zeros_behind_the_last_frame_are_a_torn_tail(stream: Path) -> None:
    """Some file systems lengthen a file before its data arrives."""
    segment_path(stream, 1).write_bytes(FRAMES[0] + bytes(100))
    payloads, reader = read_all(stream)
    assert payloads == [PAYLOADS[0]]
    assert (reader.losses.torn_tails, reader.losses.corrupt_frames) == (1, 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    payloads=st.lists(st.binary(max_size=300), min_size=1, max_size=12),
    room=st.integers(1, 2000),
    restart_at=st.integers(0, 12),
)
def test_reading_in_pieces_and_restarting_gives_every_frame_once(
    stream: Path, payloads: list[bytes], room: int, restart_at: int
) -> None:
    """Any batch size and any restart position continue exactly."""
    segment_path(stream, 1).write_bytes(b"".join(make_frame(payload) for payload in payloads))
    reader, seen = JournalReader(stream), []
    while len(seen) < len(payloads):
        frames = reader.read(room)
        assert frames
        seen += frames
    reader.close()
    assert [frame.payload for frame in seen] == payloads
    if restart_at < len(seen):
        again = JournalReader(stream, seen[restart_at].position_after)
        assert [frame.payload for frame in again.read(1 << 20)] == payloads[restart_at + 1 :]
        again.close()


def test_a_replaced_journal_is_read_from_its_start(stream: Path) -> None:
    """A position from a journal that is gone does not hide the new one."""
    segment_path(stream, 1).write_bytes(FRAMES[0])
    reader = JournalReader(stream, Position(40, 12345))
    assert [frame.payload for frame in reader.read(1 << 20)] == [PAYLOADS[0]]
    reader.close()
