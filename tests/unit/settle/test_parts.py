"""A settle group is arranged in parts: what stands in another part changes nothing."""

from __future__ import annotations

import random
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.unit.settle.builders import GAP, Trace

from whyflame.settle.parts import PART_OPERATIONS, split
from whyflame.settle.structure import arrange

if TYPE_CHECKING:
    from whyflame.model import Operation


def make_session(name: str, seed: int, size: int, start: int) -> list[Operation]:
    """One trace of an agent that calls a model and, sometimes, tools that overlap."""
    draw = random.Random(seed)
    trace = Trace(name, session=f"s-{name}")
    trace.add("agent:a", start, start + size * 10)
    for number in range(size - 1):
        kind = draw.choice(("llm", "llm", "tool", "wrap"))
        begin = start + number * 10 + 1
        trace.add(f"{kind}:{number}", begin, begin + draw.randrange(1, 15), "a")
    return list(trace.made.values())


def places(operations: list[Operation]) -> dict[tuple[bytes, bytes], tuple[Any, ...]]:
    return {
        (operation.span.trace_id, operation.span.span_id): astuple(operation)
        for operation in operations
    }


@pytest.mark.slow
@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_sessions_are_arranged_as_if_each_were_alone(sizes: list[int], draw: random.Random) -> None:
    alone: list[Operation] = []
    together: list[Operation] = []
    for number, size in enumerate(sizes):
        start = 1 + draw.randrange(1_000)
        alone += arrange(make_session(f"{number}", number, size, start), GAP, {})
        together += make_session(f"{number}", number, size, start)
    draw.shuffle(together)
    assert places(arrange(together, GAP, {})) == places(alone)


def test_a_part_holds_whole_sessions_and_whole_traces() -> None:
    """A chain of sessions that share traces is one part, in the same order for every arrival."""
    operations: list[Operation] = []
    for number in range(8):
        made = make_session(f"{number}", number, 300, 1 + number)
        for operation in made[150:]:
            operation.session = f"s-{number + 1 if number < 3 else number}"
        operations += made
    orders = []
    for seed in range(3):
        random.Random(seed).shuffle(operations)
        parts = split(operations)
        orders.append([{operation.session for operation in part} for part in parts])
        sessions = [{operation.session for operation in part} for part in parts]
        traces = [{operation.span.trace_id for operation in part} for part in parts]
        assert sum(map(len, parts)) == len(operations)
        for found in (sessions, traces):
            assert sum(map(len, found)) == len(set().union(*found))
    assert len(orders[0]) > 1
    assert {"s-0", "s-1", "s-2", "s-3"} <= orders[0][0]
    assert orders[0] == orders[1] == orders[2]


def test_a_small_group_is_one_part() -> None:
    operations = make_session("0", 0, PART_OPERATIONS, 1)
    assert split(operations) == [operations]
