"""A request that ends the process is found out, kept aside, and the others are stored."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.otlp import Row, traces

from whyflame.index.trail import Trail
from whyflame.journal import Encoding, Frame, JournalWriter, Position, Signal
from whyflame.store.coverage import EVERYTHING, coverage
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter

if TYPE_CHECKING:
    from pathlib import Path

LIFE = """
import os, pathlib, sys
from whyflame.config import ContentConfig
from whyflame.dialects import Reader
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Indexer, SpanReader
from whyflame.journal import JournalTail, Position
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter

class Deadly(Reader):
    def read_traces(self, payload, **more):
        if b"deadly" in payload:
            os._exit(9)
        return super().read_traces(payload, **more)

directory = pathlib.Path(sys.argv[1])
store = Store(directory / "w.duckdb")
writer = SpanWriter(store)
places = {name: Position(*place) for name, place in writer.positions().items()}
Indexer(
    JournalTail(directory / "journal", places),
    SpanReader(Deadly(), ContentConfig(), DeadLetters(directory / "dead")),
    writer, lambda traces: None, lambda: 1,
).drain()
store.close()
"""


def live(directory: Path) -> int:
    """One process that indexes what there is; its exit code."""
    return subprocess.run([sys.executable, "-c", LIFE, str(directory)], check=False).returncode


def send(directory: Path, *names: str) -> None:
    journal = JournalWriter(directory / "journal", "r0")
    for name in names:
        body = traces(Row("test", name, trace=ord(name[0])))
        journal.append(body, signal=Signal.TRACES, received_ns=1)
    journal.close()


@pytest.mark.slow
def test_a_request_that_ends_the_process_is_kept_aside(tmp_path: Path) -> None:
    """After some processes; what lies around it is stored once, and the next request as usual."""
    send(tmp_path, "a", "b", "deadly", "e", "f")
    lives = [live(tmp_path) for _ in range(8)]
    assert 9 in lives
    assert lives[-1] == 0
    (kept,) = (tmp_path / "dead").iterdir()
    assert kept.name.startswith("fatal.traces.")
    assert not (tmp_path / "journal" / "trail.json").exists()
    send(tmp_path, "g")
    assert live(tmp_path) == 0
    store = Store(tmp_path / "w.duckdb")
    assert store.cursor().execute("SELECT count(*) FROM spans").fetchone() == (5,)
    assert SpanWriter(store).positions()["r0"][0] > 1
    assert coverage(store, EVERYTHING)["counters"]["dead_letters"] == {"fatal": 1}
    store.close()


def frame(offset: int) -> Frame:
    return Frame("r0", "", Signal.TRACES, Encoding.PROTOBUF, 1, b"", Position(1, offset))


STANDS = {"r0": Position(1, 0)}


def begin(path: Path, times: int) -> Trail:
    """The last of so many processes that began at one place."""
    for _ in range(times):
        trail = Trail(path, STANDS)
        trail.begin()
    return trail


def test_starts_at_one_place_raise_suspicion(tmp_path: Path) -> None:
    """Not those of one process, nor at other places, nor what was stored in between."""
    path = tmp_path / "trail.json"
    trail = begin(path, 3)
    assert not trail.begin()
    assert begin(path, 1).begin()
    assert not Trail(path, {"r0": Position(1, 5)}).begin()
    begin(path, 3).end()
    assert not path.exists()
    assert not begin(path, 3).begin()


def test_what_ended_two_processes_is_left_alone(tmp_path: Path) -> None:
    """What they had read before does no harm, and is taken up again; so is what stands behind."""
    path = tmp_path / "trail.json"
    begin(path, 3)
    for _ in range(2):
        trail = begin(path, 1)
        assert trail.take_up(frame(10))
        trail.let_go()
        assert trail.take_up(frame(20))  # ends here
    trail = begin(path, 1)
    assert [trail.take_up(frame(offset)) for offset in (10, 20, 30)] == [True, False, True]


def test_processes_that_end_with_different_requests_blame_none(tmp_path: Path) -> None:
    path = tmp_path / "trail.json"
    begin(path, 3)
    for offset in (10, 20, 10, 20):
        assert begin(path, 1).take_up(frame(offset))


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"at": 1, "more": 2}', b"\xff\x00"])
def test_a_damaged_trail_says_nothing(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "trail.json"
    path.write_bytes(left)
    assert not Trail(path, STANDS).begin()
