"""The index stage over a real journal and store: nothing acknowledged is skipped, nothing stalls."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.otlp import Row, traces

from whyflame.config import ContentConfig
from whyflame.dialects import Reader
from whyflame.errors import TransientError
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Indexer, SpanReader
from whyflame.journal import JournalTail, JournalWriter, Signal, pending_bytes
from whyflame.journal.frame import BLOCK_BYTES
from whyflame.store.coverage import EVERYTHING, coverage
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.model import Span


class Faulty(Reader):
    """A reader that fails on spans of one name, a number of times."""

    def __init__(self, name: str, error: Exception, times: int = 1 << 30) -> None:
        super().__init__()
        self.name, self.error, self.times = name, error, times

    def read_traces(self, payload: bytes, *, tenant: str, received_ns: int) -> list[Span]:
        spans = super().read_traces(payload, tenant=tenant, received_ns=received_ns)
        if self.times and any(span.name == self.name for span in spans):
            self.times -= 1
            raise self.error
        return spans


class Stage:
    """Journal, store and indexer on one directory."""

    def __init__(
        self, directory: Path, reader: Reader | None = None, max_letters: int = 10
    ) -> None:
        self.directory = directory
        self.queued: dict[int, Any] = {}
        self.handed_on: list[bytes] = []
        self.store = Store(directory / "w.duckdb")
        self.journal = JournalWriter(directory / "journal", "r0")
        letters = DeadLetters(directory / "dead", max_files=max_letters)
        self.dead = directory / "dead"
        self.indexer = Indexer(
            JournalTail(directory / "journal", {}),
            SpanReader(reader or Reader(), ContentConfig(), letters),
            SpanWriter(self.store),
            self.queued.update,
            lambda: 1,
            lambda frames: self.handed_on.extend(frame.payload for frame in frames),
        )

    def send(self, *names: str) -> None:
        for name in names:
            # More than the journal reads at least, so that a batch may hold a single one.
            body = traces(Row("test", name, {"long": "x" * BLOCK_BYTES}, trace=ord(name[0])))
            self.journal.append(body, signal=Signal.TRACES, received_ns=1)

    def stored(self) -> list[str]:
        query = "SELECT traces.trace_id FROM spans JOIN traces USING (trace_key) ORDER BY 1"
        rows = self.store.cursor().execute(query).fetchall()
        return [chr(row[0][-1]) for row in rows]

    def close(self) -> None:
        self.journal.close()
        self.store.close()


@pytest.fixture(params=["one batch", "a batch each, read ahead"])
def stages(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Stages that take all requests at once, or one while the one before is being stored."""
    if request.param != "one batch":
        monkeypatch.setattr("whyflame.journal.reader._SMALLEST_READ", 1)
        monkeypatch.setattr("whyflame.index.indexer.READ_BYTES", 1)
        monkeypatch.setattr("whyflame.index.indexer.LARGE_BYTES", 0)
    made: list[Stage] = []

    def make(*args: Any, **options: Any) -> Stage:
        made.append(Stage(tmp_path, *args, **options))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


def test_one_unreadable_request_goes_aside(stages: Any) -> None:
    """A fault while reading one request leaves the others alone, and keeps its body."""
    stage = stages(Faulty("bad", KeyError("x")))
    stage.send("a", "bad", "c")
    assert stage.indexer.drain() == 3
    assert stage.stored() == ["a", "c"]
    (kept,) = stage.dead.iterdir()
    assert kept.name.startswith("unreadable.traces.")


def test_nothing_is_skipped_when_it_cannot_be_kept_aside(stages: Any) -> None:
    """With no room for dead letters the stage waits, and goes on with the same requests."""
    reader = Faulty("bad", KeyError("x"))
    stage = stages(reader, max_letters=0)
    stage.send("a", "bad", "c")
    for _ in range(2):
        with pytest.raises(Exception, match="dead-letter"):
            stage.indexer.drain()
    reader.times = 0
    stage.send("d")
    stage.indexer.drain()
    assert stage.stored() == ["a", "b", "c", "d"]


def test_a_request_kept_aside_is_counted_once(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it comes; but not before the transaction that counts it."""
    stage = stages(Faulty("bad", KeyError("x")))
    append, failures = SpanWriter.append, iter([True, False])

    def flaky(self: SpanWriter, *args: Any, **more: Any) -> Any:
        if next(failures, False):
            raise TransientError("disk full")
        return append(self, *args, **more)

    monkeypatch.setattr(SpanWriter, "append", flaky)
    body = traces(Row("test", "bad"))
    for received_ns in (1, 2, 3):
        stage.journal.append(body, signal=Signal.TRACES, received_ns=received_ns)
    with pytest.raises(TransientError):
        stage.indexer.step()
    for received_ns in (4, 5):
        stage.journal.append(body, signal=Signal.TRACES, received_ns=received_ns)
    stage.indexer.drain()
    counted = coverage(stage.store, EVERYTHING)["counters"]["dead_letters"]
    assert counted == {"unreadable": 1}
    assert len(list(stage.dead.iterdir())) == 1


def test_a_failed_commit_is_tried_again(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that fails for a while loses nothing and doubles nothing."""
    stage = stages()
    stage.send("a", "b")
    append, failures = SpanWriter.append, iter([True, True, False])

    def flaky(self: SpanWriter, *args: Any, meanwhile: Any = None) -> Any:
        if next(failures, False):
            if meanwhile is not None:
                meanwhile()  # a commit fails when the next batch has been read already
            raise OSError("disk")
        return append(self, *args, meanwhile=meanwhile)

    monkeypatch.setattr(SpanWriter, "append", flaky)
    with pytest.raises(OSError, match="disk"):
        stage.indexer.step()
    stage.send("c")
    stage.indexer.drain()
    assert stage.stored() == ["a", "b", "c"]


def test_one_unstorable_request_goes_aside(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the store refuses a batch, only the request that it refuses is kept aside."""
    stage = stages()
    stage.send("a", "bad", "c")
    append = SpanWriter.append

    def picky(self: SpanWriter, spans: Any, *rest: Any, meanwhile: Any = None) -> Any:
        if any(span.name == "bad" for span in spans):
            raise OverflowError("too large")
        return append(self, spans, *rest, meanwhile=meanwhile)

    monkeypatch.setattr(SpanWriter, "append", picky)
    stage.indexer.drain()
    assert stage.stored() == ["a", "c"]
    (kept,) = stage.dead.iterdir()
    assert kept.name.startswith("unstorable.traces.")


def test_what_is_stored_is_settled_though_receivers_cannot_be_told(stages: Any) -> None:
    """A disk that fills between commit and the note to receivers keeps no trace from settling."""
    stage = stages()
    stage.send("a", "b")
    # A folder where the note is written: writing it fails, as on a full disk.
    blocked = stage.directory / "journal" / f"applied.json.{os.getpid()}"
    blocked.mkdir()
    with pytest.raises(OSError, match="applied"):
        stage.indexer.step()
    assert len(stage.queued) == len(stage.stored()) > 0
    blocked.rmdir()
    stage.indexer.drain()
    assert pending_bytes(stage.directory / "journal") == 0


def test_damage_is_counted_once_in_coverage(stages: Any) -> None:
    """What the journal had to skip is part of what the totals rest on."""
    stage = stages()
    stage.send("a", "b")
    (segment,) = (stage.directory / "journal" / "r0").glob("*.wfj")
    content = bytearray(segment.read_bytes())
    content[50] ^= 1
    segment.write_bytes(content)
    stage.indexer.drain()
    stage.send("c")
    stage.indexer.drain()
    assert stage.stored() == ["b", "c"]
    assert coverage(stage.store, EVERYTHING)["counters"] == {"journal_lost": {"corrupt": 1}}


def test_requests_are_handed_on_once_however_often_storing_fails(
    stages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To forwarders, before the store has them: an error of the store must not repeat it."""
    stage = stages()
    stage.send("a", "b")
    append, failures = SpanWriter.append, iter([True, True, True])

    def full(self: SpanWriter, *args: Any, meanwhile: Any) -> Any:
        if next(failures, False):
            if meanwhile is not None:
                meanwhile()
            raise TransientError("the disk is full")
        return append(self, *args, meanwhile=meanwhile)

    monkeypatch.setattr(SpanWriter, "append", full)
    for _ in range(3):
        with pytest.raises(TransientError):
            stage.indexer.step()
    stage.indexer.drain()
    stage.send("c")
    stage.indexer.drain()
    assert len(stage.handed_on) == 3
    assert stage.stored() == ["a", "b", "c"]


def test_what_was_acknowledged_can_be_waited_for(stages: Any) -> None:
    """Who asks for a settle pass now means what they have sent, indexed or not."""
    stage = stages()
    stage.send("a", "b")
    stopping = threading.Event()
    assert not stage.indexer.wait_for_acknowledged(0.0, stopping)
    beside = threading.Timer(0.1, stage.indexer.drain)
    beside.start()
    assert stage.indexer.wait_for_acknowledged(10.0, stopping)
    assert stage.stored() == ["a", "b"]
    assert len(stage.queued) == 2
    beside.join()


def test_waiting_goes_on_while_storing_does(stages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to store: only an indexer that stands still is given up on."""
    monkeypatch.setattr("whyflame.journal.reader._SMALLEST_READ", 1)
    monkeypatch.setattr("whyflame.index.indexer.READ_BYTES", 1)
    stage = stages()
    stage.send(*"abcdef")

    def store_slowly() -> None:
        while stage.indexer.step():
            time.sleep(0.3)

    beside = threading.Thread(target=store_slowly)
    beside.start()
    assert stage.indexer.wait_for_acknowledged(0.9, threading.Event())
    assert stage.stored() == list("abcdef")
    beside.join()


def test_nobody_waits_for_an_indexer_that_stops(stages: Any) -> None:
    """A stop would last as long as the wait."""
    stage = stages()
    stage.send("a")
    stopping = threading.Event()
    threading.Timer(0.1, stopping.set).start()
    began = time.monotonic()
    assert not stage.indexer.wait_for_acknowledged(30.0, stopping)
    assert time.monotonic() - began < 10


def test_a_transaction_holds_a_bounded_number_of_spans(
    stages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many small requests are read together; each is stored and handed on once."""
    monkeypatch.setattr("whyflame.index.indexer.MAX_SPANS", 2)
    sizes: list[int] = []
    append = SpanWriter.append

    def noted(self: SpanWriter, spans: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(spans))
        return append(self, spans, *args, **more)

    monkeypatch.setattr(SpanWriter, "append", noted)
    stage = stages()
    stage.send(*"abcdefg")
    assert stage.indexer.drain() == 7
    assert max(sizes) <= 2
    assert stage.stored() == list("abcdefg")
    assert len(stage.handed_on) == 7
    assert pending_bytes(stage.directory / "journal") == 0


def test_a_part_that_cannot_be_stored_is_tried_again(
    stages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was cut off behind it is not forgotten."""
    monkeypatch.setattr("whyflame.index.indexer.MAX_SPANS", 2)
    stage = stages()
    append, failures = SpanWriter.append, iter([False, True, True, False])

    def flaky(self: SpanWriter, *args: Any, **more: Any) -> Any:
        if next(failures, False):
            raise TransientError("disk full")
        return append(self, *args, **more)

    monkeypatch.setattr(SpanWriter, "append", flaky)
    stage.send(*"abcdefg")
    for _ in range(2):
        with pytest.raises(TransientError):
            stage.indexer.drain()
    stage.indexer.drain()
    assert stage.stored() == list("abcdefg")
    assert len(stage.handed_on) == 7
