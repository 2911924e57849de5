"""Work that runs side by side: agent spans and whole traces that overlap in time."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.tree import NO_PARENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.settle.agents import Agents
    from whyflame.settle.tree import Tree

__all__ = ["find_parallel_agents", "overlaps", "place_traces"]

# A tool that only runs an agent lasts about as long as the agent: at most twice as long here.
MOST_TOOL_PER_AGENT = 2
# How many of the newest tool calls may have started the agent: parallel calls of one model answer.
TOOLS_LOOKED_AT = 16
# More traces at once than this share lanes: a bound on work, far above what one session does.
MOST_MAIN_LANES = 64


def overlaps(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """True when two intervals share more than a quarter of the shorter one.

    Sequential spans overlap a little: a wrapper closes after the next one opened, clocks jitter,
    log events carry milliseconds.
    """
    shared = min(first[1], second[1]) - max(first[0], second[0])
    shorter = min(first[1] - first[0], second[1] - second[0])
    return shared > 0 and shared * 4 > shorter


def find_parallel_agents(tree: Tree, agents: Agents) -> dict[int, int]:
    """Agent spans that open a lane -> the tool call beside them that started them, or NO_PARENT."""
    openers: dict[int, int] = {}
    siblings: dict[tuple[bytes, str, int], list[int]] = {}
    tools = _LeafTools(tree)
    for position, operation in enumerate(tree.operations):
        if operation.kind is not Kind.AGENT or not agents.calling[position]:
            continue
        owner = tree.owners[position]
        outer = agents.heads[owner] if owner >= 0 else NO_PARENT
        if owner >= 0 and _is_calling_tool(tree, agents, owner):
            outer = owner
        if operation.counted and agents.is_subagent(position, outer, tree.starts[position]):
            openers[position] = tools.around(position)
        else:
            key = (operation.span.trace_id, operation.session, agents.frames[position])
            siblings.setdefault(key, []).append(position)
    for group in siblings.values():
        if len(group) > 1:
            openers.update(_open_overlapping(tree, tools, group))
    return openers


def _is_calling_tool(tree: Tree, agents: Agents, position: int) -> bool:
    operation = tree.operations[position]
    return operation.kind is Kind.TOOL and operation.counted and agents.calling[position]


def _open_overlapping(tree: Tree, tools: _LeafTools, group: list[int]) -> dict[int, int]:
    """Of agents side by side: those a tool of another one runs, and those that overlap."""
    openers = {}
    free = []
    for position in group:
        anchor = tools.around(position)
        if anchor >= 0:
            openers[position] = anchor
        else:
            free.append(position)
    spans = [(tree.starts[position], tree.ends[position]) for position in free]
    for index in _find_overlapping(spans):
        openers[free[index]] = NO_PARENT
    return openers


def _find_overlapping(intervals: list[tuple[int, int]]) -> set[int]:
    """Indices of intervals, given in the order of their starts, that overlap another one."""
    found: set[int] = set()
    longest = 0
    for index in range(1, len(intervals)):
        if overlaps(intervals[longest], intervals[index]):
            found.update((longest, index))
        if intervals[index][1] > intervals[longest][1]:
            longest = index
    return found


class _LeafTools:
    """Tool calls without counted work below them, by trace, to find the one that ran an agent.

    Some instrumentations show an agent offered as a tool beside the tool span, not below it.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found: dict[tuple[bytes, str], list[int]] | None = None
        self._starts: dict[tuple[bytes, str], list[int]] = {}

    def around(self, position: int) -> int:
        """The newest tool call that contains the agent span and lasts little longer."""
        if self._found is None:
            self._found = self._find_leaves()
        tree = self._tree
        operation = tree.operations[position]
        key = (operation.span.trace_id, operation.session)
        tools = self._found.get(key)
        if not tools:
            return NO_PARENT
        start, end = tree.starts[position], tree.ends[position]
        last = bisect_right(self._starts[key], start)
        for tool in reversed(tools[max(0, last - TOOLS_LOOKED_AT) : last]):
            length = tree.ends[tool] - tree.starts[tool]
            contained = tool < position and tree.ends[tool] >= end
            if contained and length <= MOST_TOOL_PER_AGENT * (end - start):
                return tool
        return NO_PARENT

    def _find_leaves(self) -> dict[tuple[bytes, str], list[int]]:
        tree = self._tree
        with_work = _positions_with_work_below(tree)
        found: dict[tuple[bytes, str], list[int]] = {}
        for position, operation in enumerate(tree.operations):
            if operation.kind is Kind.TOOL and operation.counted and position not in with_work:
                key = (operation.span.trace_id, operation.session)
                found.setdefault(key, []).append(position)
                self._starts.setdefault(key, []).append(tree.starts[position])
        return found


def _positions_with_work_below(tree: Tree) -> set[int]:
    found: set[int] = set()
    for position in reversed(tree.order):
        owner = tree.owners[position]
        if owner >= 0 and (tree.operations[position].counted or position in found):
            found.add(owner)
    return found


def place_traces(tree: Tree, run_of: Sequence[int]) -> dict[int, int]:
    """Root position -> number of its main lane, where traces of a run work at the same time.

    Only model calls make a trace a sequence of its own; other traces stand beside the newest one.
    What another operation started has its place below that.
    Positions of runs without such traces are absent: they are in lane 0.
    """
    hulls: dict[int, dict[bytes, tuple[int, int]]] = {}
    starts, ends = tree.starts, tree.ends
    for position, operation in enumerate(tree.operations):
        if operation.kind is not Kind.LLM or operation.span.trace_id in tree.started:
            continue
        if operation.counted:
            traces = hulls.setdefault(run_of[position], {})
            trace_id = operation.span.trace_id
            hull = traces.get(trace_id)
            if hull is None:
                traces[trace_id] = (starts[position], ends[position])
            elif ends[position] > hull[1]:
                traces[trace_id] = (hull[0], ends[position])
    slots = {
        run: _place_in_slots(traces.items()) for run, traces in hulls.items() if len(traces) > 1
    }
    parallel = {run: placed for run, placed in slots.items() if any(placed.values())}
    return _spread_slots(tree, run_of, parallel) if parallel else {}


def _spread_slots(
    tree: Tree, run_of: Sequence[int], parallel: dict[int, dict[bytes, int]]
) -> dict[int, int]:
    """Slots of all roots in runs with parallel traces, those without model calls included."""
    found: dict[int, int] = {}
    newest: dict[int, int] = {}
    for position, operation in enumerate(tree.operations):
        run = run_of[position]
        if run not in parallel:
            continue
        slot = parallel[run].get(operation.span.trace_id)
        if slot is not None:
            newest[run] = slot
        if tree.owners[position] < 0:
            found[position] = newest.get(run, 0) if slot is None else slot
    return found


def _place_in_slots(traces: Iterable[tuple[bytes, tuple[int, int]]]) -> dict[bytes, int]:
    """Each trace into the first lane that is free; traces come in the order of their starts."""
    latest: list[tuple[int, int]] = []
    slots = {}
    for trace_id, hull in traces:
        slot = next((i for i, busy in enumerate(latest) if not overlaps(busy, hull)), len(latest))
        if slot == MOST_MAIN_LANES:
            slot = min(range(slot), key=lambda i: latest[i][1])
        if slot == len(latest):
            latest.append(hull)
        elif hull[1] > latest[slot][1]:
            latest[slot] = hull
        slots[trace_id] = slot
    return slots
