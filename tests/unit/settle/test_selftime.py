"""Self time: exact, shared, bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st
from tests.unit.settle.builders import Trace, settle_made

from whyflame.settle.tree import build_tree

if TYPE_CHECKING:
    from whyflame.model import Operation


def union(intervals: list[tuple[int, int]]) -> int:
    covered, busy = 0, None
    for start, end in sorted(intervals):
        begin = start if busy is None else max(start, busy)
        covered += max(0, end - begin)
        busy = end if busy is None else max(busy, end)
    return covered


def test_children_in_a_row_leave_the_rest_to_the_parent() -> None:
    """The plain case, exactly as DESIGN says."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("llm:a", 10, 30, "root")
    trace.add("tool:t", 30, 70, "root")
    made = settle_made(trace)
    assert [made[name].self_ns for name in ("root", "a", "t")] == [40, 20, 40]
    assert [made[name].wall_ns for name in ("root", "a", "t")] == [100, 20, 40]


def test_parallel_children_share_the_time_equally() -> None:
    """Two tools at once do not make the lane longer than it lasted."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("tool:a", 0, 60, "root")
    trace.add("tool:b", 20, 60, "root")
    made = settle_made(trace)
    assert [made[name].self_ns for name in ("root", "a", "b")] == [40, 40, 20]


def test_remainders_of_a_share_are_not_lost() -> None:
    """Three children share ten nanoseconds: whole numbers that add up to ten."""
    trace = Trace()
    trace.add("agent:root", 0, 10)
    for name in "abc":
        trace.add(f"tool:{name}", 0, 10, "root")
    made = settle_made(trace)
    assert sorted(made[name].self_ns or 0 for name in "abc") == [3, 3, 4]
    assert made["root"].self_ns == 0


def test_uncounted_wrappers_are_transparent() -> None:
    """Their time belongs to the nearest counted ancestor."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("wrap:w", 10, 90, "root")
    trace.add("llm:a", 20, 50, "w")
    made = settle_made(trace)
    assert (made["root"].self_ns, made["w"].self_ns, made["a"].self_ns) == (70, None, 30)


def test_work_that_outlives_its_parent_is_not_cut_off() -> None:
    """An asynchronous child keeps its time after the parent ended."""
    trace = Trace()
    trace.add("agent:root", 0, 50)
    trace.add("tool:a", 40, 90, "root")
    made = settle_made(trace)
    assert (made["root"].self_ns, made["a"].self_ns) == (40, 50)


def test_unknown_times_give_unknown_durations() -> None:
    """A span without an end has no wall time, and takes none from its parent."""
    trace = Trace()
    trace.add("agent:root", 0, 50)
    trace.add("llm:a", 10, None, "root")
    made = settle_made(trace)
    assert (made["root"].self_ns, made["a"].self_ns, made["a"].wall_ns) == (50, None, None)


def test_roots_of_one_lane_share_their_time() -> None:
    """Orphans of one missing parent run in parallel: together they last as long as the lane."""
    trace = Trace()
    trace.add("llm:a", 0, 60, "gone")
    trace.add("llm:b", 0, 60, "gone")
    made = settle_made(trace)
    assert made["a"].self_ns == made["b"].self_ns == 30


def test_a_very_deep_chain_is_exact_and_fast() -> None:
    """A hostile chain costs no quadratic time; no width is lost."""
    trace = Trace()
    depth = 3000
    for number in range(depth):
        under = None if number == 0 else f"{number - 1}"
        trace.add(f"agent:{number}", number, 10_000 - number, under)
    trace.add("llm:x", 0, 5, "0")
    made = settle_made(trace)
    assert sum(operation.self_ns or 0 for operation in made.values()) == 10_000


@st.composite
def trees(draw: st.DrawFn) -> Trace:
    """Random trees: overlapping, overflowing, empty and uncounted spans, missing parents."""
    trace = Trace()
    size = draw(st.integers(1, 14))
    for number in range(size):
        start = draw(st.integers(0, 40))
        length = draw(st.integers(0, 30))
        kind = draw(st.sampled_from(["llm", "tool", "agent", "wrap"]))
        under = draw(st.sampled_from([None, "gone", *map(str, range(size))]))
        trace.add(f"{kind}:{number}", start, start + length, under)
    return trace


def intervals(operations: list[Operation]) -> list[tuple[int, int]]:
    return [(op.span.start_ns or 0, op.span.end_ns or 0) for op in operations if op.counted]


@given(trees())
@settings(max_examples=150, deadline=None)
def test_self_times_add_up_to_what_was_covered(trace: Trace) -> None:
    """No time is lost and none is counted twice, in any tree: roots of a lane share one clock."""
    operations = list(settle_made(trace).values())
    tree = build_tree(operations)
    clocks: dict[str, list[Operation]] = {}
    for position, operation in enumerate(tree.operations):
        root = position
        while tree.parents[root] >= 0:
            root = tree.parents[root]
        clocks.setdefault(tree.operations[root].lane, []).append(operation)
    for members in clocks.values():
        assert sum(operation.self_ns or 0 for operation in members) == union(intervals(members))


@given(trees())
@settings(max_examples=150, deadline=None)
def test_self_time_is_bounded_by_wall_time_and_the_lane(trace: Trace) -> None:
    """0 <= self <= wall, and a lane never adds up to more than it lasted."""
    operations = list(settle_made(trace).values())
    lanes: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.counted:
            assert operation.self_ns is not None
            assert operation.wall_ns is not None
            assert 0 <= operation.self_ns <= operation.wall_ns
            lanes.setdefault(operation.lane, []).append(operation)
    for members in lanes.values():
        assert sum(operation.self_ns or 0 for operation in members) <= union(intervals(members))
