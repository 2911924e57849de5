"""Turns: one user request and the work for it, found from structure so that hidden text hides none.

A request enters a run at an *entry*: an agent span with no agent above it, or a bare operation in
no agent at all. Entries are walked in time order; each continues a turn or begins the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.model import Kind, Status
from whyflame.settle.leaf import is_hand_off
from whyflame.settle.parallel import overlaps
from whyflame.settle.tree import NO_PARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Content
    from whyflame.settle.tree import Tree

__all__ = ["assign_turns"]

WORK = frozenset({Kind.LLM, Kind.TOOL, Kind.CONTROL})
ENTERING = WORK | {Kind.AGENT, Kind.EMBED}


def assign_turns(tree: Tree, run_of: Sequence[int]) -> None:
    """Number the turns of every run, from 0, and write `turn` of every operation.

    Args:
        tree: Operations with agents and lanes.
        run_of: Number of the run by position.
    """
    entries = _find_entries(tree)
    walks: dict[int, _Walk] = {}
    turns: dict[int, int] = {}
    first_of_trace: dict[tuple[bytes, int], int] = {}
    kinds, counted = tree.kinds, tree.counted
    for position, run in enumerate(run_of):
        walk = walks.get(run)
        if walk is None:
            walk = walks[run] = _Walk(tree)
        if entries[position] == position:
            turns[position] = walk.enter(position)
            first_of_trace.setdefault((tree.traces[position], run), turns[position])
        if counted[position] and kinds[position] in WORK:
            walk.note_work(position)
    for position, operation in enumerate(tree.operations):
        entry = entries[position]
        if entry >= 0:
            operation.turn = turns[entry]
        else:
            key = (operation.span.trace_id, run_of[position])
            operation.turn = first_of_trace.get(key, 0)


def _find_entries(tree: Tree) -> list[int]:
    """Position -> the entry it belongs to; NO_PARENT above all entries."""
    entries = [NO_PARENT] * len(tree.operations)
    kinds, counted, owners = tree.kinds, tree.counted, tree.owners
    for position in tree.order:
        owner = owners[position]
        entry = entries[owner] if owner >= 0 else NO_PARENT
        if entry < 0:
            kind = kinds[position]
            if kind is Kind.PROMPT or (counted[position] and kind in ENTERING):
                entry = position
        entries[position] = entry
    return entries


@dataclass(slots=True)
class _Place:
    """How far a trace, or the whole run, has come.

    Attributes:
        entry: Newest entry. turn: Its turn. last_work: Newest counted call.
    """

    entry: int = NO_PARENT
    turn: int = 0
    last_work: int = NO_PARENT


@dataclass(slots=True)
class _Walk:
    """The walk over the entries of one run.

    Attributes:
        newest: Place of the run: its `turn` is the highest so far.
        traces: Place of each trace, so that interleaved traces keep their own turns.
        began_after: Newest counted call when the newest turn began.
        agents_until: When the last of the root agents so far ends.
        prompted: The newest turn began with a prompt event and no work was done in it yet.
    """

    tree: Tree
    newest: _Place = field(default_factory=_Place)
    traces: dict[bytes, _Place] = field(default_factory=dict)
    began_after: int = NO_PARENT
    agents_until: int = 0
    prompted: bool = False

    def note_work(self, position: int) -> None:
        """A counted call begins."""
        self.prompted = False
        self.newest.last_work = position
        trace = self.traces.get(self.tree.traces[position])
        if trace is not None:
            trace.last_work = position

    def enter(self, position: int) -> int:
        """The turn of the next entry."""
        operation = self.tree.operations[position]
        trace_id = operation.span.trace_id
        trace = self.traces.get(trace_id)
        if self.newest.entry < 0:
            turn = 0
        elif self._begins_turn(position, trace):
            turn = self.newest.turn + 1
            self.began_after = self.newest.last_work
        else:
            turn = trace.turn if trace is not None else self.newest.turn
        if operation.kind is Kind.PROMPT:
            self.prompted = True
        elif operation.kind is Kind.AGENT:
            self.agents_until = max(self.agents_until, self.tree.ends[position])
        if trace is None:
            trace = self.traces[trace_id] = _Place()
        trace.entry = self.newest.entry = position
        trace.turn, self.newest.turn = turn, max(turn, self.newest.turn)
        return turn

    def _begins_turn(self, position: int, trace: _Place | None) -> bool:
        operation = self.tree.operations[position]
        if self.prompted:
            return False
        if operation.kind is Kind.PROMPT:
            return self.newest.last_work != self.began_after
        if operation.kind is Kind.AGENT:
            return self._agent_begins_turn(position, trace)
        return operation.kind is Kind.LLM and self._call_begins_turn(position, trace)

    def _agent_begins_turn(self, position: int, trace: _Place | None) -> bool:
        """A new root agent, unless it takes over, works beside, or is the next of a pipeline."""
        operation = self.tree.operations[position]
        place = trace or self.newest
        previous = self.tree.operations[place.entry]
        renamed = operation.agent != previous.agent
        if renamed and place.last_work >= 0 and is_hand_off(self.tree.operations[place.last_work]):
            return False
        if trace is None:
            return True
        if previous.kind is not Kind.AGENT or renamed or self._overlap(place.entry, position):
            return False
        # Two that lack the same parent: it may still come, and frame both.
        parent_id = operation.span.parent_id
        is_orphan = parent_id is not None and self.tree.owners[position] < 0
        return not (is_orphan and parent_id == previous.span.parent_id)

    def _call_begins_turn(self, position: int, trace: _Place | None) -> bool:
        """A bare model call that neither takes tool results back nor repeats a failed call."""
        place = trace or self.newest
        if place.last_work < 0:
            return False
        last = self.tree.operations[place.last_work]
        if last.kind is not Kind.LLM or last.status is Status.ERROR:
            return False
        if self._overlap(place.last_work, position):
            return False
        if trace is None:
            # Inside the time of a root agent it is that agent's call, torn off by a lost context.
            return self.tree.ends[position] > self.agents_until
        # Several requests in one trace: only another user message tells.
        return _has_new_message(last.span.content, self.tree.operations[position].span.content)

    def _overlap(self, earlier: int, later: int) -> bool:
        starts, ends = self.tree.starts, self.tree.ends
        return overlaps((starts[earlier], ends[earlier]), (starts[later], ends[later]))


def _has_new_message(before: Content | None, after: Content | None) -> bool:
    if before is None or after is None:
        return False
    if before.prompt_sha256 is None or after.prompt_sha256 is None:
        return False
    grown = (after.user_messages or 0) > (before.user_messages or 0)
    return grown and before.prompt_sha256 != after.prompt_sha256
