"""A root agent that a call links to, or that links to a call, was started by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.settle.builders import GAP, Trace, settle_made

from whyflame.settle.links import SLACK_NS

if TYPE_CHECKING:
    from whyflame.model import Operation

SECOND = 1_000_000_000


def parent(**tool: Any) -> Trace:
    """An agent with a call that starts another one, and a call after it."""
    trace = Trace("t1")
    trace.add("agent:a", 0, 100 * SECOND, agent="lead")
    trace.add("llm:c", SECOND, 2 * SECOND, "a")
    trace.add("tool:t", 3 * SECOND, 4 * SECOND, "a", tool="spawn", **tool)
    trace.add("llm:d", 5 * SECOND, 90 * SECOND, "a")
    return trace


def child(start: int = 4, session: str = "s", **agent: Any) -> Trace:
    """An agent in a trace of its own that works beside the first."""
    trace = Trace("t2", session)
    trace.add("agent:b", start * SECOND, 80 * SECOND, agent="helper", **agent)
    trace.add("llm:e", 10 * SECOND, 70 * SECOND, "b")
    return trace


def id_of(operation: Operation) -> tuple[bytes, bytes]:
    return operation.span.trace_id, operation.span.span_id


def linked(direction: str) -> list[Trace]:
    """Both traces, with a link from the call or from the agent."""
    first, second = parent(), child()
    call, root = first.made["t"].span, second.made["b"].span
    if direction == "from the agent":
        root.links = ((call.trace_id, call.span_id),)
    else:
        call.links = ((root.trace_id, root.span_id),)
    return [first, second]


@pytest.mark.parametrize("direction", ["from the agent", "from the call"])
def test_it_is_a_lane_below_the_call_and_in_its_turn(direction: str) -> None:
    first, second = linked(direction)
    settle_made(second, first)
    agent, call = second.made["b"], second.made["e"]
    assert agent.lane == call.lane != "main"
    assert (agent.lane_parent, agent.lane_parent_step) == ("main", 0)
    assert {operation.turn for trace in (first, second) for operation in trace.made.values()} == {0}
    assert [first.made[name].step for name in "cd"] == [0, 1]
    assert call.step == 0


def test_time_is_shared_as_below_a_span() -> None:
    """No lane adds up to more than it lasted."""
    first, second = linked("from the call")
    settle_made(first, second)
    lanes: dict[str, int] = {}
    for operation in (*first.made.values(), *second.made.values()):
        lanes[operation.lane] = lanes.get(operation.lane, 0) + (operation.self_ns or 0)
    assert lanes["main"] <= 100 * SECOND
    assert sum(lanes.values()) <= 176 * SECOND


@pytest.mark.parametrize(
    "other",
    [{"session": "other"}, {"start": 3 - 2 * SLACK_NS // SECOND}, {"under": "lost"}],
    ids=["another session", "before it", "below something lost"],
)
def test_what_cannot_have_been_started_stands_alone(other: dict[str, Any]) -> None:
    first, second = parent(), child(**other)
    second.made["b"].span.links = (id_of(first.made["t"]),)
    settle_made(first, second)
    assert second.made["b"].lane_parent is None


def test_a_run_of_another_day_stands_alone() -> None:
    first, second = parent(), Trace("t2")
    second.add(
        "agent:b", 2 * GAP, 2 * GAP + SECOND, agent="helper", links=(id_of(first.made["t"]),)
    )
    second.add("llm:e", 2 * GAP, 2 * GAP + SECOND, "b")
    settle_made(first, second)
    assert (second.made["b"].run, second.made["b"].lane) == (1, "main")


def test_links_in_a_circle_are_cut() -> None:
    first, second = linked("from the call")
    second.add("tool:u", 11 * SECOND, 12 * SECOND, "b", links=(id_of(first.made["a"]),))
    first.made["a"].span.start_ns = 11 * SECOND
    settle_made(first, second)
    assert first.made["a"].lane == "main"
    assert second.made["b"].lane_parent == "main"


def test_links_to_other_work_say_nothing() -> None:
    """Messages and retries link to each other as well."""
    first, second = parent(), child()
    second.made["b"].span.links = (id_of(first.made["c"]), (b"x" * 16, b"y" * 8))
    settle_made(first, second)
    assert second.made["b"].lane_parent is None


def test_the_next_request_keeps_the_main_lane() -> None:
    """What runs on beside it takes no lane from the session."""
    first, second = linked("from the call")
    later = Trace("t3")
    later.add("agent:z", 110 * SECOND, 130 * SECOND, agent="lead")
    later.add("llm:y", 111 * SECOND, 129 * SECOND, "z")
    second.add("llm:f", 75 * SECOND, 125 * SECOND, "b")
    settle_made(first, second, later)
    assert (later.made["y"].lane, later.made["y"].turn) == ("main", 1)
