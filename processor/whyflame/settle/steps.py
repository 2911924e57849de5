"""Steps: one model call with the tool calls it asked for; and the order inside each lane."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.asking import Asking

if TYPE_CHECKING:
    from whyflame.model import Operation
    from whyflame.settle.lanes import Lane, Lanes
    from whyflame.settle.tree import Tree

__all__ = ["assign_steps"]


def assign_steps(tree: Tree, lanes: Lanes) -> None:
    """Write `seq`, `step` and `lane_parent_step` of every operation."""
    for operation in tree.operations:
        operation.step = operation.lane_parent_step = None
    calls = []
    above: list[int | None] = [None] * len(tree.operations)
    for index, lane in enumerate(lanes.lanes):
        steps = _LaneSteps(tree, lanes, index, above)
        steps.assign(lane)
        calls.append(steps.calls)
    for lane in lanes.lanes:
        if lane.parent >= 0:
            step = _step_of_opening(tree, lane, calls[lane.parent])
            for position in lane.positions:
                tree.operations[position].lane_parent_step = step


def _step_of_opening(tree: Tree, lane: Lane, calls: list[int]) -> int | None:
    """The parent lane's step that opened a lane: of the tool that ran it, else by time."""
    if lane.anchor >= 0:
        return tree.operations[lane.anchor].step
    before = bisect_right(calls, lane.start, key=tree.starts.__getitem__)
    if before:
        return tree.operations[calls[before - 1]].step
    return 0 if calls else None


class _LaneSteps:
    """The steps of one lane, filled in time order.

    Attributes:
        calls: Positions that begin a step: the counted model calls. A lane without any (hidden by
            its instrumentation) has a step for each tool call, so that it can still be cut.
    """

    def __init__(self, tree: Tree, lanes: Lanes, index: int, above: list[int | None]) -> None:
        self._tree = tree
        self._owners = tree.owners
        self._operations = tree.operations
        self._kinds = tree.kinds
        self._lane_of = lanes.of
        self._index = index
        self._above = above
        self._asked: dict[str, int] = {}
        self.calls: list[int] = []

    def assign(self, lane: Lane) -> None:
        operations, kinds, counted = self._operations, self._kinds, self._tree.counted
        coming = [
            position
            for position in lane.positions
            if kinds[position] is Kind.LLM and counted[position]
        ]
        asking = Asking(self._tree, coming)
        for seq, position in enumerate(lane.positions):
            operation, kind = operations[position], kinds[position]
            operation.seq = seq
            above = self._note_step_above(position)
            if kind is Kind.AGENT:
                continue
            if kind is Kind.LLM and counted[position]:
                self._begin(position)
            elif coming:
                operation.step = self._step_of(position, above, asking)
            elif counted[position] and above is None:
                self._begin(position)
            else:
                operation.step = above
            if counted[position]:
                asking.note(position)

    def _begin(self, position: int) -> None:
        operation = self._operations[position]
        operation.step = len(self.calls)
        if operation.span.asked:
            self._note_asked(operation)
        self.calls.append(position)

    def _note_asked(self, operation: Operation) -> None:
        if operation.step is not None:
            for call_id in operation.span.asked:
                self._asked[call_id] = operation.step

    def _step_of(self, position: int, above: int | None, asking: Asking) -> int | None:
        """By call id, else the operation above, else by time; None for wrappers."""
        operation = self._operations[position]
        if operation.span.call_id is not None:
            asked = self._asked.get(operation.span.call_id)
            if asked is not None:
                return asked
        if above is None and operation.counted:
            return asking.step_at(position)
        if operation.kind is Kind.LLM and above is not None:
            # Another view of the call above, which may know more of its answer.
            operation.step = above
            self._note_asked(operation)
        return above

    def _note_step_above(self, position: int) -> int | None:
        """The step of the nearest operation above in this lane that has one."""
        owner = self._owners[position]
        if owner < 0 or self._lane_of[owner] != self._index:
            return None
        step = self._operations[owner].step
        if step is None and self._kinds[owner] is not Kind.AGENT:
            step = self._above[owner]
        self._above[position] = step
        return step
