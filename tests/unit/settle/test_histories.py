"""What a history tells once more is a view of what came live; what only it has counts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.made import SECOND, T0, span

from whyflame.model import Kind, Span, Status
from whyflame.settle.counting import count
from whyflame.settle.forest import Forest
from whyflame.settle.histories import NEAR_NS

HISTORY = "whyflame.history.claude-code"


def made(trace: int, number: int, end: int = 0, **fields: Any) -> Span:
    """Live in trace 1, from a history in others; a call unless a tool is named."""
    tool: dict[str, Any] = (
        {"kind": Kind.TOOL, "model": None, "input_uncached": None, "output_visible": None}
        if "tool" in fields
        else {}
    )
    known: dict[str, Any] = {
        "scope": "com.anthropic.claude_code.tracing" if trace == 1 else HISTORY,
        "dialect": "claude_code" if trace == 1 else "genai",
        "service": "app" if trace == 1 else "claude-code",
        "session": "s", "answered": True, "span_key": trace * 100 + number,
        "start_ns": T0 + end * SECOND - SECOND, "end_ns": T0 + end * SECOND,
    }  # fmt: skip
    return span(trace, number, **{**known, **tool, **fields})


def whys(*spans: Span) -> dict[int, tuple[str | None, int | None]]:
    """Span key -> why it does not count, and which view does."""
    shuffled = list(spans)
    random.Random(len(spans)).shuffle(shuffled)
    operations = count(shuffled, Forest(shuffled))
    return {op.span.span_key: (op.why, op.same_as) for op in operations}


COUNTS = (None, None)
SEEN = ("other_signal", 101)


def test_a_tool_call_of_one_id_is_one_however_far_its_times() -> None:
    """The history counts waiting for a permission, the live span may not."""
    live, told = (made(trace, 1, end=trace * 99, tool="Bash", call_id="t1") for trace in (1, 2))
    assert whys(live, told) == {101: COUNTS, 201: SEEN}


@pytest.mark.parametrize(
    "other", [{"call_id": "t2"}, {"session": "other"}, {"tenant": "acme"}, {"call_id": None}]
)
def test_nothing_else_makes_two_tool_calls_one(other: dict[str, Any]) -> None:
    live = made(1, 1, tool="Bash", call_id="t1")
    told = made(2, 1, end=50, **{"tool": "Bash", "call_id": "t1", **other})
    assert whys(live, told) == {101: COUNTS, 201: COUNTS}


def test_each_live_operation_stands_for_one() -> None:
    """Equal ids once more, and a model call of that id, are others."""
    live = made(1, 1, tool="Bash", call_id="x")
    told = [made(2, n, end=n * 9, tool="Bash", call_id="x") for n in (1, 2)]
    call = made(2, 3, response_id="x")
    assert whys(live, *told, call) == {101: COUNTS, 201: SEEN, 202: COUNTS, 203: COUNTS}


def test_calls_without_an_id_are_told_by_usage_and_time() -> None:
    """The nearest of several, each once; not one that is too far away."""
    live = [made(1, n, end=n * 4) for n in (1, 2)]
    told = [made(2, n, end=n * 4 + 1, response_id=f"r{n}") for n in (1, 2)]
    far = made(2, 3, end=8 + NEAR_NS // SECOND)
    assert whys(*live, *told, far) == {
        101: COUNTS, 102: COUNTS, 201: SEEN, 202: ("other_signal", 102), 203: COUNTS,
    }  # fmt: skip


@pytest.mark.parametrize("other", [{"response_id": "r2"}, {"output_visible": 11}])
def test_calls_of_other_ids_or_usage_are_two(other: dict[str, Any]) -> None:
    live, told = made(1, 1, response_id="r1"), made(2, 1, **{"response_id": "r1", **other})
    told.end_ns = T0 + (1 if other.get("response_id") else 60) * SECOND
    expected = COUNTS if "response_id" in other else SEEN
    assert whys(live, told) == {101: COUNTS, 201: expected}


def test_failed_calls_are_told_by_time() -> None:
    failed = {"status": Status.ERROR, "input_uncached": None, "output_visible": None}
    live, told, later = made(1, 1, **failed), made(2, 1, **failed), made(2, 2, end=60, **failed)
    assert whys(live, told, later) == {101: COUNTS, 201: SEEN, 202: COUNTS}


def test_an_agent_around_what_counts_elsewhere_frames_nothing() -> None:
    """It would be a turn, and time, of its own."""
    agent: dict[str, Any] = {"kind": Kind.AGENT, "input_uncached": None, "output_visible": None}
    roots = [made(trace, 9, agent="claude-code", **agent) for trace in (2, 3, 4)]
    below = {"parent_id": roots[0].span_id, "tool": "Bash"}
    live = [made(1, n, tool="Bash", call_id=f"t{n}") for n in (1, 2)]
    told = [made(2, 1, call_id="t1", **below), made(3, 2, call_id="t2", **below)]
    new = made(3, 3, call_id="t3", **below)
    found = whys(*live, *told, new, *roots)
    assert found[209] == ("other_signal", None)
    assert found[303] == found[309] == found[409] == COUNTS


def test_histories_alone_are_left_alone() -> None:
    """A file that was imported twice has equal spans, which are repeats."""
    told = [made(2, n, tool="Bash", call_id="x") for n in (1, 2)]
    assert whys(*told) == {201: COUNTS, 202: COUNTS}
