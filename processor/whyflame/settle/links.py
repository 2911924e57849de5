"""Agents in traces of their own that a tool call or hand-off started: a span link says so.

A sub-agent that runs on beside its parent has no span around it: its root links to the call that
started it, or the call to the root. Such a root hangs below the call as if it were its child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.tree import hang_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whyflame.settle.tree import Tree

__all__ = ["attach_started"]

SLACK_NS = 1_000_000_000
"""How much earlier than its starter an agent may seem to begin: two clocks may tell."""

_STARTERS = (Kind.TOOL, Kind.CONTROL)
_Id = tuple[str, bytes, bytes]


def attach_started(tree: Tree, run_of: Sequence[int]) -> None:
    """Hang root agents below the calls of their run that started them.

    Args:
        tree: Changed in place. run_of: Number of the run by position.
    """
    linking = [place for place, operation in enumerate(tree.operations) if operation.span.links]
    if not linking:
        return
    below: dict[int, int] = {}
    for starter, agent in _linked(tree, linking):
        if agent not in below and _may_start(tree, run_of, starter, agent):
            top = starter
            while top >= 0 and top != agent:
                top = below.get(top, tree.parents[top])
            if top < 0:
                below[agent] = starter
    if below:
        hang_below(tree, below)


def _linked(tree: Tree, linking: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(starter, agent) of every link between a call and a root agent, in time order."""
    operations = tree.operations
    wanted = {span_id for place in linking for _, span_id in operations[place].span.links}
    places: dict[_Id, int] = {}
    for place, operation in enumerate(operations):
        span = operation.span
        if span.span_id in wanted:
            places.setdefault((span.tenant, span.trace_id, span.span_id), place)
    for place in linking:
        span = operations[place].span
        for trace_id, span_id in span.links:
            other = places.get((span.tenant, trace_id, span_id))
            if other is None:
                continue
            is_agent = operations[place].kind is Kind.AGENT
            yield (other, place) if is_agent else (place, other)


def _may_start(tree: Tree, run_of: Sequence[int], starter: int, agent: int) -> bool:
    """A call and a root agent of one run, in two traces, in the order of cause and effect."""
    call, root = tree.operations[starter], tree.operations[agent]
    return (
        call.kind in _STARTERS
        and root.kind is Kind.AGENT
        and root.span.parent_id is None
        and call.span.trace_id != root.span.trace_id
        and call.session == root.session
        and run_of[starter] == run_of[agent]
        and tree.starts[starter] <= tree.starts[agent] + SLACK_NS
    )
