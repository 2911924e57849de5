"""Laws of the whole arrangement, and the tree below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st
from tests.unit.settle.builders import ERROR, GAP, HOUR, OK, Trace, places, settle_made

from whyflame.settle.clocks import count_skewed
from whyflame.settle.structure import arrange
from whyflame.settle.tree import build_tree

if TYPE_CHECKING:
    import random

    from whyflame.model import Operation


@st.composite
def sessions(draw: st.DrawFn) -> list[Trace]:
    """A few traces of one or two sessions with all kinds of work."""
    traces = []
    for number in range(draw(st.integers(1, 3))):
        trace = Trace(str(number), session=draw(st.sampled_from(["s", "t"])))
        size = draw(st.integers(1, 10))
        for position in range(size):
            start = draw(st.one_of(st.none(), st.integers(0, 60)))
            end = None if start is None else start + draw(st.integers(0, 30))
            kind = draw(st.sampled_from(["llm", "tool", "agent", "control", "embed", "wrap"]))
            under = draw(st.sampled_from([None, "gone", *(f"{number}{p}" for p in range(size))]))
            agent = draw(st.sampled_from([None, "x", "y"])) if kind == "agent" else None
            trace.add(f"{kind}:{number}{position}", start, end, under, agent=agent)
        traces.append(trace)
    return traces


def fresh(traces: list[Trace]) -> list[Operation]:
    return [operation for trace in traces for operation in trace.made.values()]


@given(sessions(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_arrival_does_not_matter(traces: list[Trace], rng: random.Random) -> None:
    """Any order of the same spans gives the same structure."""
    operations = fresh(traces)
    arrange(operations, GAP, {})
    expected = places(operations)
    rng.shuffle(operations)
    arrange(operations, GAP, {})
    assert places(operations) == expected


@given(sessions())
@settings(max_examples=100, deadline=None)
def test_steps_are_dense_and_lanes_hang_together(traces: list[Trace]) -> None:
    """Steps of a lane count from 0 without holes; a parent lane exists; seq is a numbering."""
    operations = fresh(traces)
    arrange(operations, GAP, {})
    lanes: dict[tuple[str, int, str], list[Operation]] = {}
    for operation in operations:
        lanes.setdefault((operation.session, operation.run, operation.lane), []).append(operation)
    for (session, run, _), members in lanes.items():
        steps = {operation.step for operation in members if operation.step is not None}
        assert steps == set(range(len(steps)))
        assert sorted(operation.seq for operation in members) == list(range(len(members)))
        for parent in {operation.lane_parent for operation in members} - {None}:
            assert (session, run, parent) in lanes


def test_a_cycle_of_parents_is_cut() -> None:
    """Two spans that name each other as parent are a root and its child."""
    trace = Trace()
    trace.add("agent:a", 0, 100, "b")
    trace.add("llm:b", 1, 50, "a")
    trace.add("llm:c", 2, 40, "c")
    tree = build_tree(list(trace.made.values()))
    assert tree.parents == [-1, 0, -1]


def test_silence_longer_than_the_gap_begins_a_run() -> None:
    """A thread id used for weeks is cut where nobody used it, and turns start again."""
    traces = []
    for number, start in enumerate([0, HOUR, 10 * HOUR]):
        trace = Trace(str(number))
        trace.add(f"agent:r{number}", start, start + 10)
        trace.add(f"llm:l{number}", start + 1, start + 9, f"r{number}")
        traces.append(trace)
    made = settle_made(*traces)
    assert [made[f"l{number}"].run for number in range(3)] == [0, 0, 1]
    assert [made[f"l{number}"].turn for number in range(3)] == [0, 1, 0]
    assert [made[f"l{number}"].step for number in range(3)] == [0, 1, 0]


def test_runs_count_on_from_those_that_were_not_loaded() -> None:
    """A late run keeps its number whatever part of the session is looked at."""
    trace = Trace()
    trace.add("llm:a", 0, 10)
    made = settle_made(trace, s=3)
    assert made["a"].run == 3


def test_only_calls_and_tools_are_operations_and_errors() -> None:
    """An error counts on the call that failed, not on the agents above it."""
    trace = Trace()
    trace.add("agent:root", 0, 100, status=ERROR)
    trace.add("llm:a", 1, 10, "root", status=ERROR)
    trace.add("wrap:w", 11, 20, "root", status=ERROR)
    made = settle_made(trace)
    assert [made[name].operations for name in ("root", "a", "w")] == [0, 1, 0]
    assert [made[name].errors for name in ("root", "a", "w")] == [0, 1, 0]


def test_the_last_root_tells_the_outcome_unless_somebody_stated_it() -> None:
    """A repaired failure is a success; an evaluation wins; no status is unknown."""
    first, second = Trace("1"), Trace("2")
    first.add("agent:r1", 0, 10, status=ERROR)
    second.add("agent:r2", 20, 30, status=OK)
    assert settle_made(first, second)["r1"].outcome == "success"
    second.add("wrap:score", 31, 32, outcome="fail")
    assert settle_made(first, second)["r2"].outcome == "fail"
    silent = Trace()
    silent.add("agent:r", 0, 10)
    assert settle_made(silent)["r"].outcome is None


def test_a_wrong_remote_clock_is_put_right_for_all_spans_of_the_host() -> None:
    """A remote child is moved into its parent, with all below it, and keeps its length."""
    trace = Trace()
    trace.add("agent:root", 1000, 1100, host="a")
    trace.add("tool:t", 1010, 1090, "root", host="a")
    trace.add("agent:far", 5000, 5060, "t", host="b")
    trace.add("llm:call", 5010, 5050, "far", host="b")
    made = settle_made(trace)
    assert [made[name].self_ns for name in ("root", "t", "far", "call")] == [20, 20, 20, 40]
    assert made["call"].wall_ns == 40


def test_a_late_child_on_the_same_host_is_not_moved() -> None:
    """One clock cannot be wrong against itself: the child is asynchronous."""
    trace = Trace()
    trace.add("agent:root", 0, 100, host="a")
    trace.add("llm:a", 150, 200, "root", host="a")
    made = settle_made(trace)
    assert (made["root"].self_ns, made["a"].self_ns) == (100, 50)


def test_children_that_disagree_about_a_clock_are_moved_by_the_middle() -> None:
    """One asynchronous child must not drag the others out of their parent."""
    trace = Trace()
    trace.add("agent:root", 0, 100, host="a")
    trace.add("llm:x", 1000, 1020, "root", host="b")
    trace.add("llm:y", 1030, 1050, "root", host="b")
    trace.add("llm:late", 1150, 1300, "root", host="b")
    made = settle_made(trace)
    assert [made[name].self_ns for name in ("x", "y")] == [20, 20]
    assert made["late"].wall_ns == 150
    assert made["root"].self_ns == 60


def test_the_host_falls_back_to_instance_and_service() -> None:
    """Without host names two instances have two clocks, and one instance one."""
    trace = Trace()
    trace.add("agent:root", 0, 100, instance="p1")
    trace.add("llm:far", 500, 550, "root", instance="p2")
    trace.add("llm:near", 150, 200, "root", instance="p1")
    made = settle_made(trace)
    assert [made[name].self_ns for name in ("root", "far", "near")] == [50, 50, 50]
    assert count_skewed(list(trace.made.values())) == 1
