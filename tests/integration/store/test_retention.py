"""Old data goes, and its space is used again."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.made import SECOND, T0, operation, span, write_settled

from whyflame.fold.projection import compile_filter, make_projection
from whyflame.store.duck import Store
from whyflame.store.marks import MarkRow
from whyflame.store.retention import Retention
from whyflame.store.session_view import list_sessions, show_session
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.totals import totals
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 86_400 * SECOND


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


def _fill(store: Store, first: int, traces: int, *, day: int = 0, width: int = 1) -> None:
    """Settled traces of one day, `width` spans each."""
    spans = [
        span(
            trace, n + 1, session=f"s{trace}",
            start_ns=T0 + day * DAY, end_ns=T0 + day * DAY + SECOND,
            features=Random(trace * 1000 + n).randbytes(400),
        )
        for trace in range(first, first + traces)
        for n in range(width)
    ]  # fmt: skip
    SpanWriter(store).append(spans, {}, {})
    group = Group(spans=spans, trace_keys=sorted({s.trace_key for s in spans}))
    write_settled(SettledWriter(store), group, [operation(s) for s in spans], [], T0)


def _calls(store: Store) -> int:
    return totals(store, (), compile_filter(make_projection(["agent"])))[0]["llm_calls"]


def test_age(store: Store) -> None:
    """Traces that ended before the limit go with all their rows, younger ones stay."""
    _fill(store, 1, 3, day=0)
    _fill(store, 10, 2, day=5)
    swept = Retention(store, max_age_ns=2 * DAY).sweep(T0 + 6 * DAY)
    assert swept.traces == 3
    assert _calls(store) == 2
    for table in ("spans", "settled", "generations", "traces", "traces_seen"):
        rows = store.cursor().execute(f"SELECT count(*) FROM {table}").fetchone()
        assert rows == (2,), table


def test_superseded_generations_go(store: Store) -> None:
    """Settling again and again does not fill the disk, and answers stay the same."""
    made = span(1, 1, session="s")
    SpanWriter(store).append([made], {}, {})
    group = Group(spans=[made], trace_keys=[made.trace_key])
    writer = SettledWriter(store)
    for _ in range(5):
        write_settled(writer, group, [operation(made)], [], T0)
    assert Retention(store).sweep(T0).superseded_rows == 8
    assert _calls(store) == 1
    assert store.cursor().execute("SELECT count(*) FROM settled").fetchone() == (1,)


def _names(store: Store) -> tuple[int, int]:
    cursor = store.cursor()
    return tuple(
        cursor.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        for table in ("strings", "paths")
    )  # type: ignore[return-value]


def _told(store: Store) -> list[object]:
    """All that questions answer with a name in it."""
    by = ("session", "agent", "model", "path", "root", "leaf", "lane")
    everything = compile_filter(make_projection(["agent"]))
    sessions = list_sessions(store, everything, 1000)
    shown = [show_session(store, row["session"], "") for row in sessions["sessions"]]
    return [totals(store, by, everything), sessions, shown]


def _work(
    store: Store, first: int, traces: int, *, day: int, path: tuple[str, ...] = ("fix tests",)
) -> None:
    """Sessions with names of their own, and those that all share."""
    spans = [
        span(trace, 1, session=f"s{trace}", model=f"m{trace % 7}",
             start_ns=T0 + day * DAY, end_ns=T0 + day * DAY + SECOND)
        for trace in range(first, first + traces)
    ]  # fmt: skip
    SpanWriter(store).append(spans, {}, {})
    group = Group(spans=spans, trace_keys=sorted({s.trace_key for s in spans}))
    made = [operation(s, path=(*path, f"step {s.session}")) for s in spans]
    marks = [
        MarkRow("", op.session, 0, "main", "auto", "", ((0, (f"mark {op.session}",)),), "")
        for op in made
    ]
    write_settled(SettledWriter(store), group, made, marks, T0)


@pytest.mark.parametrize("held", [100_000, 20])
def test_names_go_with_what_they_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """Two sweeps later, without a change to any answer, also where few are held in memory."""
    monkeypatch.setattr("whyflame.store.dictionary.MOST_VALUES", held)
    store = Store(tmp_path / "w.duckdb")
    _work(store, 1, 100, day=0)
    _work(store, 1000, 50, day=5)
    retention = Retention(store, max_age_ns=2 * DAY)
    before = _names(store)
    assert retention.sweep(T0 + 6 * DAY).names == 0
    told = _told(store)
    assert _names(store) == before
    _work(store, 2000, 10, day=3)
    told_more = _told(store)
    swept = retention.sweep(T0 + 11 * DAY // 2)
    assert swept.traces == 10
    assert swept.names == 300
    assert _told(store) == told != told_more
    assert retention.sweep(T0 + 6 * DAY).names == 0
    # What comes again after it was forgotten, and what never came before.
    _work(store, 50, 100, day=5)
    again = _told(store)
    store.close()
    store = Store(tmp_path / "w.duckdb")
    assert _told(store) == again
    store.close()


@pytest.mark.slow
def test_space_is_used_again(store: Store) -> None:
    """Under a steady load with retention the file stops growing."""
    retention, sizes = Retention(store, max_age_ns=DAY), []
    for day in range(8):
        _fill(store, 10_000 * (day + 1), 100, day=day, width=60)
        retention.sweep(T0 + day * DAY + DAY // 2)
        sizes.append(store.path.stat().st_size)
    assert max(sizes[4:]) <= 1.3 * max(sizes[2:4])


@pytest.mark.slow
def test_size(store: Store) -> None:
    """The oldest traces go while the store is larger than allowed (row groups are freed whole)."""
    cursor = store.cursor()
    rows = "FROM range(600000) AS r(n)"
    cursor.execute(
        "INSERT INTO spans (span_key, trace_key, tenant, features) "
        f"SELECT n, n // 50, '', sha256(n::VARCHAR)::BLOB {rows}"
    )
    cursor.execute(
        f"INSERT INTO traces_seen (trace_key, tenant, end_ns) SELECT n // 50, '', n {rows}"
    )
    store.checkpoint()
    limit = Retention(store).used_bytes() * 3 // 4
    swept = Retention(store, max_bytes=limit).sweep(T0)
    assert 0 < swept.traces < 12_000
    assert Retention(store).used_bytes() <= limit
    kept = cursor.execute("SELECT min(trace_key), max(trace_key) FROM spans").fetchone()
    assert kept == (swept.traces, 11_999)
