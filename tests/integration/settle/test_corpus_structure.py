"""Structure of really recorded runs: lanes, turns, steps and times of every public scenario."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.corpus import cases, names, read_requests

from whyflame.content.features import RECORD_BYTES, extract
from whyflame.model import Content, Kind, Operation, Span
from whyflame.settle.settings import SettleSettings
from whyflame.settle.settle import settle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAMES = names()
SETTINGS = SettleSettings(pricing=None)

TWINS = [
    (name, f"{stem}{off}")
    for name in NAMES
    for stem, off in ((name.removesuffix("-on"), "-off"), (name, "-nocontent"))
    if name != f"{stem}{off}" and f"{stem}{off}" in NAMES
]


def read_case(name: str) -> list[Span]:
    """All spans and log operations of a recording, in order of arrival; fresh for each test."""
    return read_requests(cases()[name].requests())


def shape(operations: Iterable[Operation]) -> list[list[tuple[Any, ...]]]:
    """What must not depend on text: per session the sequence of counted calls and their places.

    Sessions and lanes are named by ids that differ from recording to recording, so a lane is told
    by how deep and below which step it hangs.
    """
    sessions: dict[tuple[str, int], list[Operation]] = {}
    for operation in sorted(operations, key=lambda op: (op.span.start_ns or 0, op.seq)):
        if operation.counted and operation.kind is not Kind.AGENT:
            sessions.setdefault((operation.session, operation.run), []).append(operation)
    return [
        sorted(
            (op.turn, op.lane == "main", op.lane_parent == "main", op.lane_parent_step or 0,
             op.step or 0, op.kind.value)
            for op in members
        )
        for members in sessions.values()
    ]  # fmt: skip


def without_text(span: Span) -> Span:
    """The span as if content had been switched off."""
    return replace(span, content=Content(), asked=(), call_id=None)


def places(operations: Sequence[Operation]) -> dict[int, tuple[Any, ...]]:
    return {
        op.span.span_key: (op.session, op.run, op.lane, op.lane_parent, op.lane_parent_step,
                           op.turn, op.step, op.seq, op.self_ns, op.outcome)
        for op in operations
    }  # fmt: skip


@pytest.mark.parametrize(("shown", "hidden"), TWINS)
def test_hidden_content_changes_no_structure(shown: str, hidden: str) -> None:
    """Twins recorded with and without content have the same lanes, turns and steps."""
    with_text = settle(read_case(shown), SETTINGS)
    without = settle(read_case(hidden), SETTINGS)
    assert shape(without) == shape(with_text)


@pytest.mark.parametrize("name", NAMES)
def test_structure_is_found_without_any_text(name: str) -> None:
    """No message hash and no tool-call id is needed in any of the recorded frameworks."""
    spans = read_case(name)
    blank = [without_text(span) for span in spans]
    found = settle(spans, SETTINGS)
    assert places(settle(blank, SETTINGS)) == places(found)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_arrival_does_not_matter(name: str) -> None:
    """Shuffled spans settle to the same places and numbers."""
    spans = read_case(name)
    expected = places(settle(spans, SETTINGS))
    random.Random(7).shuffle(spans)
    assert places(settle(spans, SETTINGS)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_no_lane_adds_up_to_more_than_it_lasted(name: str) -> None:
    """Self times are bounded by wall times, and a lane by the time it was at work."""
    lanes: dict[tuple[str, int, str], list[Operation]] = {}
    for operation in settle(read_case(name), SETTINGS):
        if operation.counted and operation.wall_ns is not None:
            assert 0 <= (operation.self_ns or 0) <= operation.wall_ns
            key = (operation.session, operation.run, operation.lane)
            lanes.setdefault(key, []).append(operation)
    for members in lanes.values():
        lasted = max(op.span.end_ns or 0 for op in members) - min(
            op.span.start_ns or 0 for op in members
        )
        assert sum(op.self_ns or 0 for op in members) <= lasted


@pytest.mark.slow
def test_agent_runs_are_those_of_the_recording() -> None:
    """Every named sub-agent run is a lane below the agent that started it."""
    checked = 0
    for name in NAMES:
        runs = cases()[name].expected.get("agent_runs", {})
        operations = settle(read_case(name), SETTINGS)
        for session, agents in runs.items():
            mine = [op for op in operations if op.session == session and op.counted]
            for agent, (count, parent) in agents.items():
                if parent is None:
                    continue
                lanes = {op.lane: op.lane_parent for op in mine if op.agent == agent}
                if lanes:
                    assert len(lanes) == count, (name, session, agent)
                    above = {op.agent for op in mine if op.lane in set(lanes.values())}
                    assert above == {parent}
                    checked += 1
    assert checked >= 10


SUBAGENTS = {
    # scenario -> (sub-agent, agent of the lane that started it)
    "agno-oi": ("buyer", "shop"),
    "agent-framework-responses": ("writer", "lead"),
    "google-adk-gemini": ("critic", "booker"),
    "openai-agents-oi-chat": ("auditor", "billing"),
    "openai-agents-tl": ("auditor", "billing"),
    "openai-agents-v2": ("auditor", "billing"),
    "pydantic-ai-logfire": ("researcher", "planner"),
    "smolagents-oi": ("browser", "manager"),
    "strands-openai": ("analyst", "boss"),
    "vercel-ai6": ("sub-agent", "main-agent"),
    "vercel-ai7-opentelemetry": ("sub-agent", "main-agent"),
    "vercel-ai7-legacyopentelemetry": ("sub-agent", "main-agent"),
}


@pytest.mark.parametrize("name", sorted(SUBAGENTS))
def test_subagents_are_lanes_below_the_step_that_started_them(name: str) -> None:
    """In every framework, whatever spans it wraps around them."""
    subagent, caller = SUBAGENTS[name]
    operations = settle(read_case(name), SETTINGS)
    counted = [op for op in operations if op.counted]
    calls = [op for op in counted if op.agent == subagent and op.kind is Kind.LLM]
    assert calls
    for call in calls:
        assert call.lane != "main"
        callers = [
            op
            for op in counted
            if op.session == call.session
            and op.lane == call.lane_parent
            and op.step == call.lane_parent_step
            and op.kind is Kind.LLM
        ]
        assert [op.agent for op in callers] == [caller]


@pytest.mark.parametrize(
    ("on_spans", "beside", "calls"),
    [
        ("openai-v2-latest-on", "openai-v2-legacy-on", 22),
        ("openai-otelgenai-on", "openai-otelgenai-events-grpc", 27),
    ],
)
def test_texts_in_records_of_their_own_inform_like_texts_on_spans(
    on_spans: str, beside: str, calls: int
) -> None:
    """The same agent, told with its texts on spans and in log records: equal words in equal steps."""

    def words(name: str, seed: int) -> list[tuple[Any, ...]]:
        spans = read_case(name)
        for number, span in enumerate(spans):
            span.span_key, span.features = number, extract(span, "features")
        random.Random(seed).shuffle(spans)
        found = [
            (op.turn, op.step, len(op.span.asked), op.span.features[RECORD_BYTES:])
            for op in settle([*spans, *spans[:seed]], SETTINGS)
            if op.counted and op.kind is Kind.LLM and op.span.features
        ]
        return sorted(found, key=repr)

    wanted = words(on_spans, 0)
    assert len(wanted) == calls
    assert words(beside, 0) == words(beside, 9) == wanted
