"""The settle worker: another process finds the same, and whatever becomes of it, nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from tests import corpus
from tests.serving import wait_until

from whyflame.app import build, worker
from whyflame.app.build import Pipeline, build_pipeline
from whyflame.app.worker import SettleWorker, build_worker
from whyflame.config import Config, SegmentConfig, SettleConfig
from whyflame.errors import TransientError
from whyflame.index.indexer import Read
from whyflame.journal import Signal
from whyflame.segment.registry import load_segmenter
from whyflame.store.past import StorePast
from whyflame.store.span_rows import SpanRows
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from whyflame.store.marks import LaneName, MarkRow

T0 = 1_790_000_000_000_000_000
ALWAYS = replace(Config(), settle=replace(SettleConfig(), worker_spans=1))
NEVER = replace(Config(), settle=replace(SettleConfig(), worker_spans=0))
TABLES = ("settled", "generations", "marks", "strings", "paths", "spans", "counters")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@dataclass
class _Life:
    """A store that is filled with recorded requests, and settled here or elsewhere."""

    pipeline: Pipeline

    @classmethod
    def begin(cls, folder: Path, config: Config) -> Self:
        return cls(build_pipeline(folder, config, exports=False, worker=True))

    @property
    def worker(self) -> SettleWorker:
        assert self.pipeline.worker is not None
        return self.pipeline.worker

    @property
    def worker_pid(self) -> int:
        assert self.worker.pid is not None
        return self.worker.pid

    def receive(self, names: Collection[str]) -> None:
        read = Read()
        for name in names:
            for kind, body in corpus.cases()[name].requests():
                self.pipeline.reader.read(
                    Signal[kind.upper()], body, tenant=name[:3], received_ns=T0, into=read
                )
        self.pipeline.unsettled.add(self.pipeline.writer.append(read.spans, {}, {}).traces)

    def settle(self) -> None:
        self.pipeline.settle_job.tick(everything=True)

    def tables(self) -> dict[str, list[tuple[Any, ...]]]:
        cursor = self.pipeline.store.cursor()
        return {
            name: cursor.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES
        }


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_processors", lambda: 2)
    monkeypatch.setattr(build, "now_ns", lambda: T0)


@pytest.fixture
def life(tmp_path: Path) -> Iterator[_Life]:
    made = _Life.begin(tmp_path / "elsewhere", ALWAYS)
    yield made
    made.pipeline.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[_Life]:
    made = _Life.begin(tmp_path / "here", NEVER)
    assert made.pipeline.worker is None
    yield made
    made.pipeline.close()


def test_the_worker_finds_the_same_to_the_last_row(life: _Life, here: _Life) -> None:
    """All recorded runs, in two parts, so that marks and lanes of before are asked for."""
    names = corpus.names()
    for part in (names[::2], names):
        for one in (life, here):
            one.receive(part)
            one.settle()
    assert life.worker.pid is not None
    assert life.tables() == here.tables()
    assert len(life.tables()["settled"]) > 1000


def test_a_worker_killed_between_passes_costs_one_try(life: _Life, here: _Life) -> None:
    """The pass that meets a dead worker fails and stays unsettled; the next one starts another."""
    names = corpus.names()[:6]
    for one in (life, here):
        one.receive(names[:3])
        one.settle()
        one.receive(names[3:])
    dead = life.worker_pid
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: not _runs(dead))
    before = len(life.pipeline.unsettled)
    with pytest.raises(TransientError, match="ended"):
        life.settle()
    assert len(life.pipeline.unsettled) == before > 0
    life.settle()
    here.settle()
    assert life.worker_pid != dead
    assert life.tables() == here.tables()


class _Killing(StorePast):
    """Kills who asks."""

    def __init__(self, life: _Life, times: int) -> None:
        super().__init__(life.pipeline.store)
        self._life, self._times = life, times

    def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
        found = super().marks(sessions)
        if self._times:
            self._times -= 1
            os.kill(self._life.worker_pid, signal.SIGKILL)
        return found


def test_killed_in_the_middle_of_every_pass_settling_goes_on_here(
    life: _Life, here: _Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three deaths in a row passes run in the store's process for a while."""
    monkeypatch.setattr(life.worker, "_past", _Killing(life, times=99))
    for one in (life, here):
        one.receive(corpus.names()[:4])
    for _ in range(worker.MOST_DEATHS):
        assert life.worker.accepts(1)
        with pytest.raises(TransientError, match="ended"):
            life.settle()
    assert not life.worker.accepts(10**6)
    life.settle()
    here.settle()
    assert life.worker.pid is None
    assert life.tables() == here.tables()


def test_successes_in_between_do_not_hide_a_pass_that_kills(
    life: _Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad session among good ones must not kill a worker at every look for ever."""
    for name in corpus.names()[: worker.MOST_DEATHS]:
        assert life.worker.accepts(1)
        monkeypatch.setattr(life.worker, "_past", _Killing(life, times=1))
        life.receive([name])
        with pytest.raises(TransientError, match="ended"):
            life.settle()
        life.settle()
    assert not life.worker.accepts(10**6)


def test_a_stop_does_not_wait_for_a_pass(life: _Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is broken off, and what it was for is settled another time."""

    class Stopping(StorePast):
        def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
            life.worker.interrupt()
            return super().marks(sessions)

    past = StorePast(life.pipeline.store)
    monkeypatch.setattr(life.worker, "_past", Stopping(life.pipeline.store))
    life.receive(corpus.names()[:2])
    with pytest.raises(TransientError, match="ended"):
        life.settle()
    assert len(life.pipeline.unsettled) > 0
    monkeypatch.setattr(life.worker, "_past", past)
    life.settle()
    assert len(life.pipeline.unsettled) == 0


def _hang(*_: object) -> None:
    time.sleep(60)


def test_a_worker_that_never_begins_costs_one_try(
    life: _Life, here: _Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed, and what it was started for is settled another time."""
    for one in (life, here):
        one.receive(corpus.names()[:2])
    with monkeypatch.context() as patched:
        patched.setattr(worker, "_run", _hang)
        patched.setattr(worker, "START_SECONDS", 0.5)
        with pytest.raises(TransientError, match="ended"):
            life.settle()
    assert life.worker.pid is None
    life.settle()
    here.settle()
    assert life.tables() == here.tables()


def test_a_worker_that_stops_reading_costs_one_try(
    life: _Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that fits into no pipe does not wait for its reader for ever."""
    life.receive(corpus.names()[:1])
    life.settle()
    life.receive(corpus.names())
    stopped = life.worker_pid
    os.kill(stopped, signal.SIGSTOP)
    with monkeypatch.context() as patched:
        patched.setattr(worker, "PASS_SECONDS", 0.5)
        with pytest.raises(TransientError, match="ended"):
            life.settle()
    wait_until(lambda: not _runs(stopped))
    assert len(life.pipeline.unsettled) > 0
    life.settle()
    assert len(life.pipeline.unsettled) == 0


def test_a_pass_that_fails_leaves_the_worker_alive(life: _Life, here: _Life) -> None:
    """What breaks is named by its class, and the next pass is worked out by the same process."""
    with pytest.raises(TransientError, match="failed: IndexError"):
        life.worker.work_out(Group(), SpanRows([[1, 2, 3]], {}))
    pid = life.worker_pid
    for one in (life, here):
        one.receive(corpus.names()[:2])
        one.settle()
    assert life.worker_pid == pid
    assert life.tables() == here.tables()


def test_a_store_that_fails_in_between_ends_the_conversation(
    life: _Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that could not be given is not waited for by anyone."""

    class Failing(StorePast):
        def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
            raise RuntimeError(f"{len(sessions)} sessions")

    past = StorePast(life.pipeline.store)
    monkeypatch.setattr(life.worker, "_past", Failing(life.pipeline.store))
    life.receive(corpus.names()[:2])
    with pytest.raises(RuntimeError, match="sessions"):
        life.settle()
    assert life.worker.pid is None
    monkeypatch.setattr(life.worker, "_past", past)
    life.settle()
    assert len(life.pipeline.unsettled) == 0


def test_it_ends_when_there_is_nothing_to_do(life: _Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is for busy times; the next pass starts it again."""
    life.receive(corpus.names()[:1])
    life.settle()
    pid = life.worker_pid
    life.worker.rest()
    assert life.worker.pid == pid
    monkeypatch.setattr(worker, "IDLE_SECONDS", -1.0)
    life.worker.rest()
    assert life.worker.pid is None
    assert not _runs(pid)


def test_there_is_none_where_it_is_of_no_use(life: _Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when switched off, on one processor, in a small container, or beside a paid segmenter."""
    past, auto = StorePast(life.pipeline.store), load_segmenter(SegmentConfig())
    options = {"endpoint": "http://127.0.0.1:1/v1", "model": "m"}
    paid = load_segmenter(SegmentConfig(segmenter="llm", options=options))
    assert build_worker(ALWAYS, auto, past) is not None
    assert build_worker(NEVER, auto, past) is None
    assert build_worker(ALWAYS, paid, past) is None
    monkeypatch.setattr(worker, "default_memory_limit", lambda: 256 << 20)
    assert build_worker(ALWAYS, auto, past) is None
    monkeypatch.undo()
    monkeypatch.setattr(worker, "_processors", lambda: 1)
    assert build_worker(ALWAYS, auto, past) is None


def test_small_passes_stay_here(life: _Life) -> None:
    """By default eight thousand spans are worth the way."""
    small = SettleWorker(Config(), StorePast(life.pipeline.store))
    assert not small.accepts(8191)
    assert small.accepts(8192)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
