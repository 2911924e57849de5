"""More traces wait than may be held in memory: the store knows the rest, and nothing is passed over."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.made import SECOND, T0, operation, span, write_settled

from whyflame.store import unsettled as module
from whyflame.store.duck import Store
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3600 * SECOND


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


class _Life:
    """Spans come in, passes settle them; at most three traces are held."""

    def __init__(self, store: Store, most: int = 3) -> None:
        self.unsettled = Unsettled(store, gap_ns=HOUR, most=most)
        self.writer, self.settled = SpanWriter(store), SettledWriter(store)
        self.order: list[int] = []

    def receive(self, *traces: int) -> None:
        for trace in traces:
            number = len(self.order) + trace
            made = span(trace, number, session=f"s{trace}", received_ns=T0 + number)
            self.unsettled.add(self.writer.append([made], {}, {}).traces)

    def settle(self) -> list[int]:
        taken = self.unsettled.take_ready(T0 + HOUR, idle_ns=0, hold_ns=0, limit=1)
        if taken:
            group = self.unsettled.load(taken)
            write_settled(self.settled, group, [operation(made) for made in group.spans], [], T0)
        self.order += sorted(taken)
        return sorted(taken)


def test_what_is_left_out_is_found_again_oldest_first(store: Store) -> None:
    """Ten traces, room for three: all are settled once, in the order of their arrival."""
    life = _Life(store)
    life.receive(*range(10))
    assert len(life.unsettled) == 10
    assert life.unsettled.oldest_received_ns() == T0
    while life.settle():
        pass
    assert life.order == list(range(10))
    assert len(life.unsettled) == 0
    assert life.unsettled.oldest_received_ns() is None


def test_a_start_finds_as_many_as_it_may_hold(store: Store) -> None:
    """What an earlier process left is counted, and taken in piece by piece."""
    _Life(store).receive(*range(8))
    life = _Life(store)
    assert len(life.unsettled) == 8
    while life.settle():
        pass
    assert life.order == list(range(8))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_passed_over_whatever_comes_between(store: Store, seed: int) -> None:
    """New traces, late spans of settled ones, and passes, in any order: in the end all is settled."""
    chance, life = random.Random(seed), _Life(store)
    for step in range(40):
        if chance.random() < 0.6:
            life.receive(chance.randrange(step // 2 + 1))
        else:
            life.settle()
    while life.settle():
        pass
    left = Unsettled(store, gap_ns=HOUR)
    assert len(left) == len(life.unsettled) == 0


def test_what_could_not_be_settled_comes_again(store: Store) -> None:
    """Traces put back are held even when there is no room."""
    life = _Life(store)
    life.receive(*range(6))
    taken = life.unsettled.take_ready(T0 + HOUR, idle_ns=0, hold_ns=0, limit=3)
    life.receive(7, 8, 9)
    life.unsettled.put_back(taken)
    seen: list[int] = []
    while found := life.settle():
        seen += found
    assert sorted(seen) == list(range(9))


def test_a_pass_is_bounded_by_its_spans(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few traces of many spans are as much work as many traces of few."""
    monkeypatch.setattr(module, "GROUP_SPANS", 100)
    writer, unsettled = SpanWriter(store), Unsettled(store, gap_ns=HOUR)
    spans = [span(trace, n, session=f"s{trace}") for trace in range(9) for n in range(40)]
    unsettled.add(writer.append(spans, {}, {}).traces)
    passes = [len(unsettled.take_ready(T0 + HOUR, idle_ns=0, hold_ns=0)) for _ in range(4)]
    assert passes == [3, 3, 3, 0]
    again = [len(group.trace_keys) for group in unsettled.groups(list(range(9)))]
    assert again == [3, 3, 3]
