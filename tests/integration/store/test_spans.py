"""Appending spans to a real DuckDB file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from tests.made import T0, Content, span

from whyflame.errors import StoreError
from whyflame.model import Kind
from whyflame.store.duck import Store
from whyflame.store.span_rows import read_spans
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3_600_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


def _count(store: Store, table: str) -> int:
    return store.cursor().execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_span_survives_the_store_field_by_field(store: Store) -> None:
    """What was appended comes back, except for the texts."""
    full = span(
        1, 1, parent_id=b"p" * 8, links=((b"t" * 16, b"s" * 8),), session="s", user="hash",
        asked=("call_1", "call_2"), extra={"team": "a"}, dubious=("number_negative",),
        features=b"\x00\x01", cache_read=0, wire=9, remote=True, answered=True,
        content=Content(prompt="secret", prompt_bytes=6, prompt_sha256="ab", user_messages=2),
    )  # fmt: skip
    SpanWriter(store).append([full], {}, {})
    (got,) = read_spans(store.cursor(), "tenant = ?", [""])
    assert got.content == Content(prompt_bytes=6, prompt_sha256="ab", user_messages=2)
    full.content = got.content
    assert dataclasses.asdict(got) == dataclasses.asdict(full)
    assert b"secret" not in store.path.read_bytes()


def test_repeats_are_stored_once(store: Store) -> None:
    """The same span again, in one batch or later, changes nothing."""
    writer = SpanWriter(store)
    first = writer.append([span(1, 1), span(1, 1)], {}, {})
    second = writer.append([span(1, 1), span(1, 2)], {}, {})
    assert (first.stored, first.repeated) == (1, 1)
    assert (second.stored, second.repeated) == (1, 1)
    assert _count(store, "spans") == 2


def test_repeat_is_known_after_the_window_and_a_restart(tmp_path: Path) -> None:
    """A trace that left the window, or was stored by another process, is looked up."""
    path = tmp_path / "w.duckdb"
    store = Store(path)
    writer = SpanWriter(store, window_traces=1)
    writer.append([span(1, 1)], {}, {})
    writer.append([span(2, 1)], {}, {})
    assert writer.append([span(1, 1)], {}, {}).repeated == 1
    store.close()
    again = Store(path)
    result = SpanWriter(again).append([span(1, 1), span(2, 1), span(3, 1)], {}, {})
    assert (result.stored, result.repeated) == (1, 2)
    again.close()


def test_richer_arrival_supersedes(store: Store) -> None:
    """A pending span that ended replaces what was known, recorded."""
    writer = SpanWriter(store)
    writer.append([span(1, 1, end_ns=None, attributes_count=50)], {}, {})
    result = writer.append([span(1, 1, attributes_count=3)], {}, {})
    assert (result.stored, result.superseded) == (1, 1)
    unsettled = Unsettled(store, gap_ns=HOUR)
    group = unsettled.load(unsettled.take_ready(T0 + HOUR, idle_ns=0, hold_ns=0))
    assert [s.attributes_count for s in group.spans] == [3]


def test_failed_append_leaves_no_trace(store: Store) -> None:
    """Rows, positions and what the window learned are rolled back together."""
    writer = SpanWriter(store)
    bad = span(1, 2, input_uncached=1 << 70)
    with pytest.raises(Exception, match=r"."):
        writer.append([span(1, 1), bad], {"r0": (1, 10)}, {})
    assert _count(store, "spans") == 0
    assert writer.positions() == {}
    result = writer.append([span(1, 1)], {"r0": (1, 20)}, {})
    assert result.stored == 1
    assert writer.positions() == {"r0": (1, 20)}


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """A store that a newer version wrote is not touched."""
    path = tmp_path / "w.duckdb"
    store = Store(path)
    store.cursor().execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    store.close()
    with pytest.raises(StoreError, match="schema 99"):
        Store(path)


def test_ready_when_quiet_or_held(store: Store) -> None:
    """A session waits for all its traces to be quiet, but not longer than the hold."""
    writer, unsettled = SpanWriter(store), Unsettled(store, gap_ns=HOUR)
    old = [span(1, 1, session="a", received_ns=T0), span(2, 1, session="b", received_ns=T0)]
    new = [span(3, 1, session="a", received_ns=T0 + 29)]
    unsettled.add(writer.append(old + new, {}, {}).traces)
    assert list(unsettled.take_ready(T0 + 30, idle_ns=30, hold_ns=1000)) == [1]
    assert list(unsettled.take_ready(T0 + 40, idle_ns=30, hold_ns=1000)) == []
    assert sorted(unsettled.take_ready(T0 + 40, idle_ns=30, hold_ns=40)) == [0, 2]
    assert len(unsettled) == 0


def test_group_holds_the_whole_run_and_no_more(store: Store) -> None:
    """Traces of the session are loaded as far as no gap lies between; earlier runs are counted."""
    writer, unsettled = SpanWriter(store), Unsettled(store, gap_ns=HOUR)
    day = 24 * HOUR

    def turn(trace: int, at: int) -> object:
        return span(trace, 1, session="s", start_ns=T0 + at, end_ns=T0 + at + 5)

    writer.append([turn(1, 0), turn(2, 10), turn(3, day), turn(4, day + 10)], {}, {})
    group = unsettled.load([3])
    assert group.trace_keys == [2, 3]
    assert group.earlier_runs == {("", "s"): 1}


def test_provider_traces_come_with_their_hosts(store: Store) -> None:
    """A trace made only of the provider SDK's spans is loaded with what ran beside it."""
    writer, unsettled = SpanWriter(store), Unsettled(store, gap_ns=HOUR)
    host = span(1, 1, kind=Kind.AGENT, instance="i", end_ns=T0 + 100 * 10**9)
    sdk = span(2, 5, wire=9, instance="i")
    elsewhere = span(3, 5, wire=9, instance="j")
    writer.append([host, sdk, elsewhere], {}, {})
    assert unsettled.load([1]).trace_keys == [0, 1]
    assert unsettled.load([0]).trace_keys == [0, 1]
    assert unsettled.load([2]).trace_keys == [2]
