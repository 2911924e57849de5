"""Lanes: one agent's own sequence of work; sub-agents and parallel agents get lanes of their own.

The main lane is the conversation. A lane opens below it where
- a tool call has model calls below it (an agent offered as a tool),
- an agent span lies inside the work of another agent that makes model calls itself,
- agent spans that stand side by side run at the same time,
- whole traces of the session run at the same time (`main:1`, `main:2`, ...).
A hand-off opens none: the next agent continues the conversation, only the field `agent` changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.parallel import find_parallel_agents, place_traces
from whyflame.settle.tree import NO_PARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.settle.agents import Agents
    from whyflame.settle.tree import Tree

__all__ = ["Lane", "Lanes", "assign_lanes"]


@dataclass(slots=True)
class Lane:
    """One lane of one run.

    Attributes:
        session, run: The run it belongs to. name: Unique in the run.
        parent: Index of the lane it hangs below; NO_PARENT for main lanes.
        anchor: Position of the tool call that started it; NO_PARENT when only the time is known.
        start: When it was opened.
        unnamed: A tool opened it and no agent span below has given it a name yet.
        positions: Its operations, in time order.
    """

    session: str
    run: int
    name: str
    parent: int
    anchor: int
    start: int
    unnamed: bool
    positions: list[int]


@dataclass(slots=True)
class Lanes:
    """All lanes of a settle group; `of` gives the index of the lane of each position."""

    lanes: list[Lane]
    of: list[int]


def assign_lanes(tree: Tree, agents: Agents, run_of: Sequence[int]) -> Lanes:
    """Find the lanes and write `lane` and `lane_parent` of every operation."""
    result = _Opening(tree, agents, run_of).run()
    for position, index in enumerate(result.of):
        result.lanes[index].positions.append(position)
    for lane in result.lanes:
        _skip_empty_parents(lane, result.lanes)
    _name_apart(result.lanes)
    operations = tree.operations
    for lane in result.lanes:
        parent = result.lanes[lane.parent].name if lane.parent >= 0 else None
        for position in lane.positions:
            operation = operations[position]
            operation.lane, operation.lane_parent = lane.name, parent
    return result


class _Opening:
    """The walk from parents to children that decides where lanes open."""

    def __init__(self, tree: Tree, agents: Agents, run_of: Sequence[int]) -> None:
        self._tree = tree
        self._agents = agents
        self._slots = place_traces(tree, run_of)
        self._openers = find_parallel_agents(tree, agents)
        self._lanes: list[Lane] = []
        self._mains: dict[tuple[str, int, int], int] = {}

    def run(self) -> Lanes:
        tree, calling = self._tree, self._agents.calling
        of = [NO_PARENT] * len(tree.operations)
        inside = of.copy()
        for position in tree.order:
            owner = tree.owners[position]
            lane = inside[owner] if owner >= 0 else self._main(position)
            below = lane
            operation = tree.operations[position]
            if calling[position]:
                if operation.kind is Kind.TOOL and operation.counted:
                    below = self._open(position, lane, position, unnamed=True)
                elif operation.kind is Kind.AGENT:
                    lane = below = self._enter(position, lane, of)
            of[position], inside[position] = lane, below
        return Lanes(self._lanes, of)

    def _main(self, position: int) -> int:
        operation = self._tree.operations[position]
        key = (operation.session, operation.run, self._slots.get(position, 0))
        lane = self._mains.get(key)
        if lane is None:
            lane = self._mains[key] = self._open(position, NO_PARENT, NO_PARENT)
            self._lanes[lane].name = f"main:{key[2]}" if key[2] else "main"
        return lane

    def _enter(self, position: int, lane: int, of: list[int]) -> int:
        """The lane of an agent span that makes model calls: a new one, or the one around it."""
        anchor = self._openers.get(position)
        if anchor is not None:
            # A tool beside it started it, if its lane is known already; else only time tells.
            known = anchor >= 0 and of[anchor] >= 0
            return self._open(position, of[anchor], anchor) if known else self._open(position, lane)
        if self._lanes[lane].unnamed and self._tree.operations[position].counted:
            self._lanes[lane].unnamed = False
            self._lanes[lane].name = self._tree.operations[position].span.span_id.hex()
        return lane

    def _open(
        self, position: int, parent: int, anchor: int = NO_PARENT, *, unnamed: bool = False
    ) -> int:
        operation = self._tree.operations[position]
        name = operation.span.span_id.hex()
        start = self._tree.starts[position]
        lane = Lane(operation.session, operation.run, name, parent, anchor, start, unnamed, [])
        self._lanes.append(lane)
        return len(self._lanes) - 1


def _skip_empty_parents(lane: Lane, lanes: list[Lane]) -> None:
    """Hang a lane below the next one that holds operations: a tool may only run other lanes."""
    while lane.parent >= 0:
        parent = lanes[lane.parent]
        if parent.positions or parent.parent < 0:
            return
        lane.anchor = parent.anchor if lane.anchor < 0 else lane.anchor
        lane.parent = parent.parent


def _name_apart(lanes: list[Lane]) -> None:
    """Span ids are unique in a trace only: number the names that occur again in a run."""
    taken: dict[tuple[str, int, str], int] = {}
    for lane in lanes:
        key = (lane.session, lane.run, lane.name)
        again = taken.get(key, 0)
        taken[key] = again + 1
        if again:
            lane.name = f"{lane.name}:{again}"
