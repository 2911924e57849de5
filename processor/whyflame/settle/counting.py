"""Counts each call, tool run and agent run once, whatever number of instrumentations saw it.

The rules only look at the spans of one settle group and can be run again at any time: when late
spans arrive, everything is decided anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind, Operation, Span, Status
from whyflame.settle.control import is_control
from whyflame.settle.histories import match_histories
from whyflame.settle.ledger import Ledger
from whyflame.settle.matching import match_calls, match_tools
from whyflame.settle.messages import is_message
from whyflame.settle.numbers import fill_numbers, take_numbers, take_sizes
from whyflame.settle.repeats import merge_equal_spans
from whyflame.settle.signals import choose_signals
from whyflame.settle.views import (
    CALLS,
    drop_stubs,
    find_hosted_agents,
    is_call,
    merge_nested_agents,
    merge_nested_calls,
    merge_nested_tools,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.settle.forest import Forest

__all__ = ["count"]

WORK = frozenset({*CALLS, Kind.TOOL})
_UNCOUNTED = {Kind.OTHER: "not_agent_work", Kind.PROMPT: "prompt"}


def count(spans: Sequence[Span], forest: Forest | None = None) -> list[Operation]:
    """Decides for every span whether and as what it counts.

    Args:
        spans: Everything that must be settled together: all traces of a session, and traces of the
            same service instances that overlap them in time.
        forest: Of these spans, when it is there already.

    Returns:
        One operation a span, in the same order. Session, agent run, lane and step are not filled.
    """
    ledger = Ledger(spans, forest)
    find_hosted_agents(ledger)
    for index in ledger.open_of(_UNCOUNTED):
        if index not in ledger.hosted:
            span = spans[index]
            ledger.drop(index, "message" if is_message(span) else _UNCOUNTED[span.kind])
    drop_stubs(ledger)
    choose_signals(ledger)
    merge_equal_spans(ledger)
    merge_nested_calls(ledger)
    merge_nested_tools(ledger)
    merge_nested_agents(ledger)
    match_histories(ledger)
    match_calls(ledger)
    match_tools(ledger)
    agents = _find_agents(ledger)
    return [_settle(ledger, index, agent) for index, agent in enumerate(agents)]


def _find_agents(ledger: Ledger) -> list[str | None]:
    """Agents by their own name; others by the nearest agent's, else by the name they carry."""
    spans, hosted = ledger.spans, ledger.hosted
    names = [
        span.name if index in hosted else span.agent if span.kind is Kind.AGENT else None
        for index, span in enumerate(spans)
    ]
    inherited = ledger.forest.inherit(names)
    return [name or span.agent for name, span in zip(inherited, spans, strict=True)]


def _settle(ledger: Ledger, index: int, agent: str | None) -> Operation:
    span = ledger.spans[index]
    kind, why, head = span.kind, ledger.why[index], ledger.head[index]
    if kind is Kind.TOOL and is_control(span.tool):
        kind = Kind.CONTROL
    elif index in ledger.hosted:
        kind = Kind.AGENT
    wall_ns = None
    if span.start_ns is not None and span.end_ns is not None:
        wall_ns = span.end_ns - span.start_ns
    # Positional: keywords of forty fields cost as much as all that is found out here.
    operation = Operation(
        span, "", False, 0, "main", None, None, 0, None, 0, kind, why is None, why,  # noqa: FBT003
        None if head == index else ledger.spans[head].span_key, agent, span.model, span.provider,
        span.tool, None, span.skill, span.status, span.error_type, span.outcome, None,
        None, None, None, None, None, None, wall_ns,
    )  # fmt: skip
    if why is None:
        _fill_counted(ledger, index, operation)
    return operation


def _fill_counted(ledger: Ledger, index: int, operation: Operation) -> None:
    if index not in ledger.views:
        _fill_single(ledger, index, operation)
        return
    views = [ledger.spans[view] for view in ledger.views[index]]
    if operation.kind in WORK:
        operation.operations = 1
        _merge_status(operation, views)
        operation.errors = int(operation.status is Status.ERROR)
        for view in views:
            take_sizes(operation, view)
    if is_call(operation.span):
        fill_numbers(operation, views)
        if operation.model is None:
            operation.model = _inherited_model(ledger, index)
    elif operation.kind is Kind.TOOL:
        _fill_tool(operation, views)
    elif _is_opaque_agent(ledger, index):
        fill_numbers(operation, [operation.span])


def _fill_single(ledger: Ledger, index: int, operation: Operation) -> None:
    """What `_fill_counted` comes to for the usual call: one that was seen once."""
    kind, failed = operation.kind, operation.status is Status.ERROR
    if kind in WORK:
        operation.operations = 1
        operation.errors = int(failed)
        take_sizes(operation, operation.span)
        operation.error_type = (operation.error_type or None) if failed else None
    if kind in CALLS:
        take_numbers(operation, operation.span)
        operation.model = operation.model or _inherited_model(ledger, index)
        operation.provider = operation.provider or None
    elif kind is Kind.AGENT and _is_opaque_agent(ledger, index):
        fill_numbers(operation, [operation.span])


def _merge_status(operation: Operation, views: list[Span]) -> None:
    """A call ended as its outermost view says; a tool failed when any view says so."""
    said = [view for view in views if view.status is not Status.UNSET]
    failed = next((view for view in said if view.status is Status.ERROR), None)
    if operation.kind is Kind.TOOL:
        said = [failed] if failed else said
    if said:
        operation.status = said[0].status
    if operation.status is not Status.ERROR:
        operation.error_type = None
    elif failed is not None:
        operation.error_type = next((view.error_type for view in views if view.error_type), None)


def _fill_tool(operation: Operation, views: list[Span]) -> None:
    for view in views:
        operation.tool = operation.tool or view.tool
        operation.skill = operation.skill or view.skill


def _inherited_model(ledger: Ledger, index: int) -> str | None:
    """Codex names the model on an ancestor of the span that carries the usage."""
    for ancestor in ledger.forest.ancestors(index):
        model = ledger.spans[ancestor].model
        if model:
            return model
    return None


def _is_opaque_agent(ledger: Ledger, index: int) -> bool:
    """A remote agent that reports usage and whose model calls nobody sees."""
    span = ledger.spans[index]
    if span.kind is not Kind.AGENT or not span.remote or not span.has_usage:
        return False
    return not ledger.forest.has_below(index, lambda other: is_call(ledger.spans[other]))
