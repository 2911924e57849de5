"""Structure of counted operations: runs, lanes, turns, steps, times, outcome, evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind, Status
from whyflame.settle.agents import find_agents
from whyflame.settle.lanes import assign_lanes
from whyflame.settle.leaf import find_leaf
from whyflame.settle.links import attach_started
from whyflame.settle.outcome import assign_outcomes
from whyflame.settle.parts import split
from whyflame.settle.runs import assign_runs
from whyflame.settle.selftime import assign_times
from whyflame.settle.steps import assign_steps
from whyflame.settle.tree import build_tree
from whyflame.settle.turns import assign_turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.model import Operation

__all__ = ["arrange"]

# Work that is counted; agents and control calls are structure.
COUNTED_KINDS = frozenset({Kind.LLM, Kind.EMBED, Kind.TOOL})


def arrange(
    operations: Sequence[Operation], gap_ns: int, earlier_runs: Mapping[str, int]
) -> list[Operation]:
    """Fill in everything that depends on the tree and on time.

    Args:
        operations: Counted, with sessions; in any order. They are changed in place.
        gap_ns: A longer silence begins a new run.
        earlier_runs: Session -> runs that lie before all of `operations`.

    Returns:
        The same operations; those of one session in time order.
    """
    arranged: list[Operation] = []
    for part in split(operations):
        arranged += _arrange_part(part, gap_ns, earlier_runs)
    _join_views(arranged)
    return arranged


def _arrange_part(
    operations: Sequence[Operation], gap_ns: int, earlier_runs: Mapping[str, int]
) -> list[Operation]:
    tree = build_tree(operations)
    run_of = assign_runs(tree, gap_ns, earlier_runs)
    attach_started(tree, run_of)
    agents = find_agents(tree)
    lanes = assign_lanes(tree, agents, run_of)
    assign_turns(tree, run_of)
    assign_steps(tree, lanes)
    assign_times(tree, lanes.of)
    assign_outcomes(tree, run_of)
    for operation in tree.operations:
        _count(operation)
    return tree.operations


def _count(operation: Operation) -> None:
    """What the operation adds to the totals; an error counts where it happened, not above."""
    counts = operation.counted and operation.kind in COUNTED_KINDS
    operation.operations = 1 if counts else 0
    operation.errors = 1 if counts and operation.status is Status.ERROR else 0
    operation.leaf = find_leaf(operation)


def _join_views(operations: Sequence[Operation]) -> None:
    """Further views of a call stand where the view that counts stands, in whatever trace."""
    views = [operation for operation in operations if operation.same_as is not None]
    if not views:
        return
    by_key = {operation.span.span_key: operation for operation in operations}
    for view in views:
        counted = by_key.get(view.same_as) if view.same_as is not None else None
        if counted is None:
            continue
        view.session, view.session_known = counted.session, counted.session_known
        view.run, view.turn, view.step = counted.run, counted.turn, counted.step
        view.lane, view.lane_parent = counted.lane, counted.lane_parent
        view.lane_parent_step, view.outcome = counted.lane_parent_step, counted.outcome
