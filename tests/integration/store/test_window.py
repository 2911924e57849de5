"""What is known of recent spans and traces, and the rows that spans share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from tests.made import T0, span

from whyflame.store.duck import Store
from whyflame.store.span_rows import Origins, read_spans
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled
from whyflame.store.window import OpenTrace, SeenTraces, Window, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3_600_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


@given(st.sets(st.binary(min_size=16, max_size=16), max_size=60))
def test_seen_traces_never_forget(trace_ids: set[bytes]) -> None:
    """A trace that was added may always be held."""
    seen = SeenTraces(iter(trace_ids), len(trace_ids))
    assert all(seen.may_hold(trace_id) for trace_id in trace_ids)


def test_seen_traces_mostly_know_new_ones() -> None:
    """Less than one new trace in a hundred is looked up for nothing, also when it is full."""
    seen = SeenTraces(iter(()), 0)
    count = 0
    while not seen.is_full:
        seen.add(count.to_bytes(16, "big"))
        count += 1
    wrong = sum(seen.may_hold((count + n).to_bytes(16, "big")) for n in range(20_000))
    assert wrong < 200


@given(st.integers(0, 1 << 45), st.integers(0, (1 << 22) - 1))
def test_packed_entries_come_back(span_key: int, weight: int) -> None:
    """Key and weight survive as one number."""
    assert unpack(pack(span_key, weight)) == (span_key, weight)


def test_window_is_bounded_in_spans() -> None:
    """The oldest traces leave when the spans of all become too many; the newest stays."""
    window = Window(max_traces=100, max_spans=10)
    for number in range(4):
        trace = OpenTrace(number)
        window.add(("", bytes([number])), trace)
        trace.spans.update({bytes([number, at]): pack(at, 1) for at in range(4)})
        window.count(4)
    assert [window.get(("", bytes([n]))) is not None for n in range(4)] == [
        False, False, True, True,
    ]  # fmt: skip


def test_spans_share_what_they_have_in_common(store: Store) -> None:
    """One row of `origins` for all spans of one producer, tool and model."""
    SpanWriter(store).append([span(1, n, model="gpt-5") for n in range(9)], {}, {})
    assert store.cursor().execute("SELECT count(*) FROM origins").fetchone() == (1,)
    spans = read_spans(store.cursor(), "tenant = ?", [""])
    assert {found.model for found in spans} == {"gpt-5"}


def test_numbers_of_a_failed_append_are_given_out_again() -> None:
    """What was not stored means nothing."""
    origins = Origins(7)
    assert origins.number(span(1, 1, model="a")) == 7
    origins.forget()
    assert origins.number(span(1, 1, model="b")) == 7
    origins.confirm()
    assert origins.number(span(1, 1, model="a")) == 8
    assert [row[0] for row in origins.fresh_rows()] == [8]


def test_one_look_serves_many_groups(store: Store) -> None:
    """Whole sessions come in several takings, each once; one that went on in between waits."""
    writer, unsettled = SpanWriter(store), Unsettled(store, gap_ns=HOUR)
    spans = [span(n, 1, session=f"s{n}", received_ns=T0) for n in range(1, 7)]
    unsettled.add(writer.append(spans, {}, {}).traces)
    first = unsettled.take_ready(T0 + 10, idle_ns=10, hold_ns=HOUR, limit=2)
    late = next(key for key in range(6) if key not in first)
    unsettled.add({late: (T0 + 9, T0 + 9)})
    rest: dict[int, tuple[int, int]] = {}
    while taken := unsettled.take_ready(T0 + 10, idle_ns=10, hold_ns=HOUR, limit=2):
        assert not rest.keys() & taken.keys()
        rest |= taken
    assert len(first) == 2
    assert late not in rest
    assert sorted([*first, *rest, late]) == list(range(6))
