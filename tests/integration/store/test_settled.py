"""Generations, totals and coverage in a real DuckDB file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.made import SECOND, T0, operation, span, write_settled

from whyflame.fold.projection import compile_filter, make_projection
from whyflame.model import Kind, Status
from whyflame.store.ask import fold_projection
from whyflame.store.coverage import coverage
from whyflame.store.duck import Store
from whyflame.store.marks import MarkRow, newest_marks
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.totals import totals
from whyflame.store.unsettled import Group, Unsettled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.model import Operation
    from whyflame.store.dropped import Dropped

HOUR = 3600 * SECOND


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "w.duckdb")
    yield opened
    opened.close()


def _settle(store: Store, writer: SettledWriter, operations: list[Operation]) -> Dropped:
    spans = [op.span for op in operations]
    group = Group(spans=spans, trace_keys=sorted({s.trace_key for s in spans}))
    return write_settled(writer, group, operations, [], T0)


def _all(*where: str) -> object:
    return compile_filter(make_projection(["agent"], where=where))


def test_totals_and_profile_agree(store: Store) -> None:
    """Sums are exact, and NULL where nothing was reported."""
    calls = [span(1, n, session="s") for n in range(3)]
    silent = span(1, 9, session="s", input_uncached=None, output_visible=None)
    tool = span(
        1, 10, session="s", kind=Kind.TOOL, input_uncached=None, output_visible=None,
        status=Status.ERROR,
    )  # fmt: skip
    spans = [*calls, silent, tool]
    SpanWriter(store).append(spans, {}, {})
    ops = [operation(s) for s in spans]
    ops[-1].errors = 1
    _settle(store, SettledWriter(store), ops)
    (row,) = totals(store, (), _all())
    assert row["llm_calls"] == 4
    assert row["calls_without_usage"] == 1
    assert (row["tool_calls"], row["tool_errors"], row["llm_errors"]) == (1, 1, 0)
    assert (row["input_tokens"], row["output_tokens"]) == (300, 30)
    assert row["cache_read_tokens"] is None
    assert row["cost_usd"] is None
    assert row["duration_seconds"] == 5.0
    profile = fold_projection(store, make_projection(["agent", "path", "leaf"]))
    assert profile.totals() == {
        "operations": 5, "cost": 0, "duration": 5 * SECOND, "tokens": 330,
    }  # fmt: skip


def test_newest_generation_counts(store: Store) -> None:
    """Settling again replaces the earlier answer, without touching its rows."""
    made = span(1, 1, session="s")
    SpanWriter(store).append([made], {}, {})
    writer = SettledWriter(store)
    _settle(store, writer, [operation(made, path=("first",))])
    _settle(store, writer, [operation(made, path=("second",))])
    rows = totals(store, ("task",), _all())
    assert [(row["task"], row["llm_calls"]) for row in rows] == [("second", 1)]
    assert store.cursor().execute("SELECT count(*) FROM settled").fetchone() == (2,)


def test_trace_without_agent_work_is_dropped_and_counted(store: Store) -> None:
    """Web requests of a service that also runs agents are not kept."""
    web = span(1, 1, kind=Kind.OTHER, model=None)
    SpanWriter(store).append([web], {}, {})
    dropped = _settle(
        store, SettledWriter(store), [operation(web, counted=False, why="not_agent_work")]
    )
    assert dropped == (1, 0)
    assert store.cursor().execute("SELECT count(*) FROM spans").fetchone() == (0,)
    assert coverage(store, _all())["counters"] == {"dropped_spans": {"not_agent_work": 1}}
    assert len(Unsettled(store, gap_ns=HOUR)) == 0


def test_dropped_spans_that_come_again_count_once(tmp_path: Path) -> None:
    """Also after a restart, when nothing is left of them in memory; new ones of the trace count."""
    for numbers, dropped in (((1, 2), (2, 0)), ((1, 2, 3), (1, 2)), ((3,), (0, 1))):
        store = Store(tmp_path / "w.duckdb")
        web = [span(1, number, kind=Kind.OTHER, model=None) for number in numbers]
        SpanWriter(store).append(web, {}, {})
        made = [operation(one, counted=False, why="not_agent_work") for one in web]
        assert _settle(store, SettledWriter(store), made) == dropped
        assert store.cursor().execute("SELECT count(*) FROM spans").fetchone() == (0,)
        found = coverage(store, _all())["counters"]
        store.close()
    assert found == {"dropped_spans": {"not_agent_work": 3}}


def test_what_arrives_while_a_trace_is_found_to_be_no_work_stays(store: Store) -> None:
    """A pass drops what it read, not the model call that was stored meanwhile."""
    web, call = span(1, 1, kind=Kind.OTHER, model=None), span(1, 2)
    writer = SpanWriter(store)
    writer.append([web], {}, {})
    writer.append([call], {}, {})
    _settle(store, SettledWriter(store), [operation(web, counted=False, why="not_agent_work")])
    assert store.cursor().execute("SELECT span_id FROM spans").fetchall() == [(call.span_id,)]
    assert len(Unsettled(store, gap_ns=HOUR)) == 1


def test_failed_write_gives_ids_back(store: Store) -> None:
    """Dictionary ids of a transaction that failed are used again, none points nowhere."""
    made = span(1, 1, session="s")
    SpanWriter(store).append([made], {}, {})
    writer = SettledWriter(store)
    with pytest.raises(Exception, match=r"."):
        _settle(store, writer, [operation(made, self_ns=1 << 70, leaf="call lost")])
    _settle(store, writer, [operation(made, leaf="call kept")])
    (row,) = totals(store, ("leaf",), _all())
    assert row["leaf"] == "call kept"
    ids = store.cursor().execute("SELECT id, value FROM strings ORDER BY id").fetchall()
    assert [number for number, _ in ids] == list(range(len(ids)))
    assert "call lost" not in [value for _, value in ids]


def test_restart_finds_what_is_unsettled(tmp_path: Path) -> None:
    """Spans newer than their trace's generation wait again after a restart."""
    path = tmp_path / "w.duckdb"
    store = Store(path)
    first, second = span(1, 1, session="s"), span(1, 2, session="s")
    spans = SpanWriter(store)
    spans.append([first], {}, {})
    _settle(store, SettledWriter(store), [operation(first)])
    assert len(Unsettled(store, gap_ns=HOUR)) == 0
    spans.append([second], {}, {})
    store.close()
    store = Store(path)
    unsettled = Unsettled(store, gap_ns=HOUR)
    assert len(unsettled) == 1
    group = unsettled.load(unsettled.take_ready(T0 + HOUR, idle_ns=0, hold_ns=0))
    assert [s.span_id for s in group.spans] == [first.span_id, second.span_id]
    store.close()


def test_marks_are_kept_by_version(store: Store) -> None:
    """Marks of a lane are appended with producer and input hash."""
    made = span(1, 1, session="s")
    SpanWriter(store).append([made], {}, {})
    group = Group(spans=[made], trace_keys=[made.trace_key])
    first = MarkRow("", "s", 0, "main", "auto 1", "ab", ((0, ("fix login", "fix tests")),))
    second = MarkRow("", "s", 0, "main", "auto 2", "cd", ((0, ("fix login", "run tests")),))
    writer = SettledWriter(store)
    write_settled(writer, group, [operation(made)], [first], T0)
    write_settled(writer, group, [operation(made)], [second], T0)
    assert store.cursor().execute("SELECT count(*) FROM marks").fetchone() == (2,)
    newest = newest_marks(store, store.cursor(), [("", "s"), ("", "unknown")])
    assert newest == {("", "s", 0, "main"): second}


def test_token_kinds_are_rows_of_their_own(store: Store) -> None:
    """Split by token kind, every part is one row, and the parts add up to the whole."""
    made = span(1, 1, session="s", cache_read=40)
    SpanWriter(store).append([made], {}, {})
    _settle(store, SettledWriter(store), [operation(made)])
    rows = totals(store, ("session", "token_kind"), _all())
    assert [(row["session"], row["token_kind"]) for row in rows] == [
        ("s", "input_uncached"), ("s", "cache_read"), ("s", "output_visible"),
    ]  # fmt: skip
    whole = totals(store, (), _all())[0]
    for key in ("input_tokens", "output_tokens", "cache_read_tokens"):
        assert sum(row[key] or 0 for row in rows) == whole[key]


def test_no_call_means_no_tokens_where_calls_are_seen(store: Store) -> None:
    """A session of tools alone read nothing, if its instrumentation shows calls elsewhere."""
    call = span(1, 1, session="a", dialect="genai")
    tool = span(2, 2, session="b", dialect="genai", kind=Kind.TOOL, input_uncached=None,
                output_visible=None)  # fmt: skip
    silent = span(3, 3, session="c", dialect="smolagents", kind=Kind.TOOL, input_uncached=None,
                  output_visible=None)  # fmt: skip
    SpanWriter(store).append([call, tool, silent], {}, {})
    _settle(store, SettledWriter(store), [operation(made) for made in (call, tool, silent)])
    found = {row["session"]: row["input_tokens"] for row in totals(store, ("session",), _all())}
    assert found == {"a": 100, "b": 0, "c": None}


def test_rows_hold_what_was_found_and_null_where_nothing_was(store: Store) -> None:
    """Column by column: unknown for some, for all, zero, the largest number, promoted fields."""
    spans = [span(1, number, session="s") for number in range(3)]
    spans[1].extra.update({"team": "blue", "project": "x"})
    ops = [operation(made) for made in spans]
    ops[0].reasoning, ops[0].cost_nanousd, ops[0].step = None, 0, None
    ops[1].reasoning, ops[1].cost_nanousd, ops[1].step = 2**62, None, 0
    ops[2].reasoning, ops[2].cost_nanousd, ops[2].step = 7, 5, 1
    for op in ops:
        op.cache_write = None
    _settle(store, SettledWriter(store), ops)
    rows = store.cursor().execute(
        "SELECT reasoning, cost_nanousd, step, cache_write, extra, counted, same_as, generation "
        "FROM settled ORDER BY span_key"
    )
    assert rows.fetchall() == [
        (None, 0, None, None, None, True, None, 1),
        (2**62, None, 0, None, {"team": "blue", "project": "x"}, True, None, 1),
        (7, 5, 1, None, None, True, None, 1),
    ]


def test_one_row_of_thousands_with_a_promoted_field(store: Store) -> None:
    """DuckDB guesses types of lists from a sample of the rows: it must not see empty ones alone."""
    spans = [span(1, number, session="s") for number in range(4000)]
    spans[1777].extra["team"] = "blue"
    SpanWriter(store).append(spans, {}, {})
    _settle(store, SettledWriter(store), [operation(made) for made in spans])
    rows = store.cursor().execute("SELECT extra, count(*) FROM settled GROUP BY ALL ORDER BY 2")
    assert rows.fetchall() == [({"team": "blue"}, 1), (None, 3999)]
