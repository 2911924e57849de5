"""Self time: the time of an operation that no counted operation below it accounts for.

At every instant an operation passes its time to the counted operations running below it, in equal
shares; what has nobody running below keeps it. So the self times below one root add up to exactly
the time that was covered, in integers, however much ran in parallel. Work that outlives its parent
(asynchronous calls) passes to the nearest ancestor that still runs, and is not cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.settle.shares import share_time
from whyflame.settle.tree import NO_PARENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.settle.tree import Tree

__all__ = ["assign_times"]

# Deeper nesting is treated as side by side, so that a hostile chain cannot cost quadratic time.
MOST_DEPTH = 64


def assign_times(tree: Tree, lanes: Sequence[int]) -> None:
    """Write `wall_ns` of all operations with times, `self_ns` of the counted ones.

    Args:
        tree: Operations with their lanes.
        lanes: Number of the lane by position.
    """
    for operation, timed, start, end in zip(
        tree.operations, tree.timed, tree.starts, tree.ends, strict=True
    ):
        if timed:
            operation.wall_ns = end - start
        operation.self_ns = None
    above, groups = _find_counted_above(tree)
    shared = _assign_sequential(tree, above, groups)
    if not shared:
        return
    members: dict[int, list[int]] = {group: [] for group in sorted(shared)}
    for position, group in enumerate(groups):
        if group in shared and _takes_part(tree, position):
            members[group].append(position)
    for positions in members.values():
        shares = share_time(positions, above, tree.starts, tree.ends, lanes)
        for position, time in shares.items():
            tree.operations[position].self_ns = time


def _takes_part(tree: Tree, position: int) -> bool:
    return tree.timed[position] and tree.counted[position]


def _find_counted_above(tree: Tree) -> tuple[list[int], list[int]]:
    """Nearest counted, timed ancestor of each position, and the group that shares one clock.

    All roots of a lane share their time, so that a lane never adds up to more than it lasted.
    """
    operations, parents = tree.operations, tree.parents
    taking = [
        is_counted and timed for is_counted, timed in zip(tree.counted, tree.timed, strict=True)
    ]
    above = [NO_PARENT] * len(operations)
    groups = [0] * len(operations)
    depths = [0] * len(operations)
    lanes: dict[tuple[str, int, str], int] = {}
    for position in tree.order:
        parent = parents[position]
        if parent >= 0:
            if taking[parent]:
                depth = depths[parent] + 1
                above[position] = parent if depth < MOST_DEPTH else above[parent]
                depths[position] = min(depth, MOST_DEPTH - 1)
            else:
                above[position], depths[position] = above[parent], depths[parent]
            groups[position] = groups[parent]
        else:
            operation = operations[position]
            key = (operation.session, operation.run, operation.lane)
            groups[position] = lanes.setdefault(key, len(lanes))
    return above, groups


def _assign_sequential(tree: Tree, above: list[int], groups: list[int]) -> set[int]:
    """The plain case, wall time less the children's; returns the groups where work overlaps."""
    shared: set[int] = set()
    operations, starts, ends = tree.operations, tree.starts, tree.ends
    # End of the newest child by parent; by group (negative keys) for roots.
    busy: dict[int, int] = {}
    counted, timed = tree.counted, tree.timed
    for position, operation in enumerate(operations):
        if not (counted[position] and timed[position]):
            continue
        start, end = starts[position], ends[position]
        parent, group = above[position], groups[position]
        operation.self_ns = (operation.self_ns or 0) + end - start
        key = parent if parent >= 0 else -1 - group
        if start < busy.get(key, start):
            shared.add(group)
        busy[key] = end
        if parent >= 0:
            if start < starts[parent] or end > ends[parent]:
                shared.add(group)
            outer = operations[parent]
            outer.self_ns = (outer.self_ns or 0) - (end - start)
    return shared
