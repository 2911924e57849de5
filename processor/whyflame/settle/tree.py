"""Parent and child among operations: orphans are roots, cycles are cut, host clocks are aligned."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import lt
from typing import TYPE_CHECKING

from whyflame.settle.clocks import align_clocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.model import Kind, Operation

__all__ = ["NO_PARENT", "Tree", "build_tree", "hang_below"]

NO_PARENT = -1

Entry = tuple[int, int, bytes, bytes, bool, int, "Operation"]
"""Start, minus end, span id, trace id, not counted (a repeat of the same id comes last), number."""


@dataclass(slots=True)
class Tree:
    """Operations in time order, with their places in the span tree as positions.

    Attributes:
        operations: Sorted by start, longest first, so that the order of arrival never matters.
        parents: Position of the parent; NO_PARENT for roots, orphans and where a cycle was cut.
        owners: Like `parents`, but NO_PARENT as well where the parent is of another session.
        order: Positions, parents before children.
        starts, ends: Nanoseconds after clocks were aligned; equal when the time is unknown.
        timed: False when start or end is unknown; such an operation has no duration.
        kinds, counted, traces: Of the operations, and the ids of their traces.
        started: Traces whose root hangs below an operation of another trace.
    """

    operations: list[Operation]
    parents: list[int]
    owners: list[int]
    order: Sequence[int]
    starts: list[int]
    ends: list[int]
    timed: list[bool]
    kinds: list[Kind]
    counted: list[bool]
    traces: list[bytes]
    started: set[bytes] = field(default_factory=set)


def hang_below(tree: Tree, below: Mapping[int, int]) -> None:
    """Give roots a parent in another trace of their session: position -> position, no cycles."""
    parents = list(tree.parents)
    owners = parents if tree.owners is tree.parents else list(tree.owners)
    for root, parent in below.items():
        parents[root] = owners[root] = parent
        tree.started.add(tree.traces[root])
    tree.parents, tree.owners = parents, owners
    tree.order = _order_parents_first(parents)


def build_tree(operations: Sequence[Operation]) -> Tree:
    """The tree over all operations of a settle group, whatever order they come in."""
    entries = _sorted_entries(operations)
    tree = _tree_of(entries)
    moved = align_clocks(tree.operations, tree.parents, tree.order, tree.starts, tree.ends)
    if not moved and isinstance(tree.order, range):
        return tree
    # Of equal times the parent comes first: steps and shares read the positions as a time line.
    ranks = {position: rank for rank, position in enumerate(tree.order)}
    times = zip(tree.starts, tree.ends, entries, strict=True)
    aligned = [(start, -end, *entry[2:]) for start, end, entry in times]
    order = sorted(range(len(aligned)), key=lambda i: (*aligned[i][:2], ranks[i]))
    return _tree_of([aligned[position] for position in order])


def _tree_of(entries: Sequence[Entry]) -> Tree:
    starts = [entry[0] for entry in entries]
    ends = [max(-entry[1], entry[0]) for entry in entries]
    traces = [entry[3] for entry in entries]
    counted = [not entry[4] for entry in entries]
    ordered = [entry[6] for entry in entries]
    timed = [op.span.start_ns is not None and op.span.end_ns is not None for op in ordered]
    parents = _link_parents(ordered, [entry[2] for entry in entries], traces)
    order = _order_parents_first(parents)
    owners = _cut_at_sessions(ordered, parents)
    kinds = [operation.kind for operation in ordered]
    return Tree(ordered, parents, owners, order, starts, ends, timed, kinds, counted, traces)


def _sorted_entries(operations: Sequence[Operation]) -> list[Entry]:
    """All operations in time order; unknown times are filled in."""
    entries: list[Entry] = []
    untimed: list[Operation] = []
    for number, operation in enumerate(operations):
        span = operation.span
        start, end = span.start_ns, span.end_ns
        if start is None or end is None:
            untimed.append(operation)
        else:
            uncounted = not operation.counted
            entry = (start, -end, span.span_id, span.trace_id, uncounted, number, operation)
            entries.append(entry)
    if untimed:
        entries.extend(_fill_times(entries, untimed, len(operations)))
    # Numbers differ, so that operations are never compared.
    entries.sort()
    return entries


def _fill_times(entries: Sequence[Entry], untimed: Sequence[Operation], first: int) -> list[Entry]:
    """A place in time for spans without one: the time they have, else where their trace begins."""
    begins: dict[bytes, int] = {}
    for start, _, _, trace_id, *_ in entries:
        begins[trace_id] = min(start, begins.get(trace_id, start))
    filled = []
    for number, operation in enumerate(untimed, first):
        span = operation.span
        time = span.start_ns if span.start_ns is not None else span.end_ns
        if time is None:
            time = begins.get(span.trace_id, 0)
        uncounted = not operation.counted
        entry = (time, -time, span.span_id, span.trace_id, uncounted, number, operation)
        filled.append(entry)
    return filled


def _link_parents(
    operations: Sequence[Operation], ids: Sequence[bytes], traces: Sequence[bytes]
) -> list[int]:
    wanted = [operation.span.parent_id for operation in operations]
    by_id: dict[bytes | None, int] = {name: position for position, name in enumerate(ids)}
    if len(by_id) == len(ids):
        # Span ids are random: mostly they tell spans apart without the trace.
        found = [by_id.get(parent, NO_PARENT) for parent in wanted]
        return [
            parent if parent < 0 or traces[parent] == trace_id else NO_PARENT
            for parent, trace_id in zip(found, traces, strict=True)
        ]
    positions: dict[tuple[bytes, bytes | None], int] = {}
    for position, name in enumerate(zip(traces, ids, strict=True)):
        positions.setdefault(name, position)
    return [positions.get(name, NO_PARENT) for name in zip(traces, wanted, strict=True)]


def _order_parents_first(parents: list[int]) -> Sequence[int]:
    """Positions, parents first; cycles are cut in `parents` at their earliest member."""
    if all(map(lt, parents, range(len(parents)))):
        return range(len(parents))
    depths = [-1] * len(parents)
    for position in range(len(parents)):
        path: list[int] = []
        walker = position
        on_path: set[int] = set()
        while walker >= 0 and depths[walker] < 0:
            if walker in on_path:
                first = min(path[path.index(walker) :])
                parents[first] = NO_PARENT
                break
            on_path.add(walker)
            path.append(walker)
            walker = parents[walker]
        _fill_depths(path, parents, depths)
    return sorted(range(len(parents)), key=depths.__getitem__)


def _fill_depths(path: list[int], parents: list[int], depths: list[int]) -> None:
    """Depths of a path from child to ancestor; after a cut the path may start in its middle."""
    cut = next((i for i, position in enumerate(path) if parents[position] < 0), len(path) - 1)
    for position in [*reversed(path[: cut + 1]), *reversed(path[cut + 1 :])]:
        parent = parents[position]
        depths[position] = depths[parent] + 1 if parent >= 0 else 0


def _cut_at_sessions(operations: Sequence[Operation], parents: list[int]) -> list[int]:
    sessions = [operation.session for operation in operations]
    if len(set(sessions)) <= 1:
        return parents
    return [
        parent if parent >= 0 and sessions[parent] == session else NO_PARENT
        for parent, session in zip(parents, sessions, strict=True)
    ]
