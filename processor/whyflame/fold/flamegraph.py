"""Pyroscope's flame graph messages: nodes by level, positions delta-coded.

A node of a single graph is four integers (distance from the previous node's end, total, self, name),
of a difference seven (distance, total and self on the left, the same on the right, name). Children
begin after the self part of their parent. Beyond `max_nodes` the smallest are summed up in a leaf
`other`, placed last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whyflame.fold.pair import BASE, TARGET, pair_profiles
from whyflame.fold.tree import Level, build_levels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from whyflame.fold.profile import Profile
    from whyflame.fold.stack_keys import Array

__all__ = ["DEFAULT_MAX_NODES", "FlameGraph", "FlameGraphDiff", "encode", "encode_diff"]

DEFAULT_MAX_NODES = 8192
_ROOT, _FOLDED = "total", "other"


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The message of one profile."""

    names: list[str]
    levels: list[list[int]]
    total: int
    max_self: int


@dataclass(frozen=True, slots=True)
class FlameGraphDiff:
    """The message of two profiles."""

    names: list[str]
    levels: list[list[int]]
    total: int
    max_self: int
    left_ticks: int
    right_ticks: int


@dataclass(slots=True)
class _Node:
    name: str
    totals: tuple[int, ...]
    selfs: tuple[int, ...]
    children: list[_Node] = field(default_factory=list)


def encode(
    profile: Profile, measure: str | None = None, max_nodes: int | None = None
) -> FlameGraph:
    """The flame graph of one measure, by default the one that width shows."""
    root = _tree(profile, [measure or profile.default], max_nodes)
    names = _names(root)
    return FlameGraph(
        names=list(names),
        levels=_levels(root, names),
        total=root.totals[0],
        max_self=max(node.selfs[0] for node in _walk(root)),
    )


def encode_diff(
    left: Profile, right: Profile, measure: str | None = None, max_nodes: int | None = None
) -> FlameGraphDiff:
    """The flame graph of a difference, both sides aligned to the same shape."""
    pair = pair_profiles(left, right, measure)
    root = _tree(pair, [BASE, TARGET], max_nodes)
    names = _names(root)
    return FlameGraphDiff(
        names=list(names),
        levels=_levels(root, names),
        total=sum(root.totals),
        max_self=max(max(node.selfs) for node in _walk(root)),
        left_ticks=root.totals[0],
        right_ticks=root.totals[1],
    )


def _tree(profile: Profile, measures: Sequence[str], max_nodes: int | None) -> _Node:
    levels = build_levels(profile, measures)
    totals = tuple(profile.total(measure) for measure in measures)
    root = _Node(_ROOT, totals, (0,) * len(measures))
    least = _threshold(levels, max_nodes or DEFAULT_MAX_NODES)
    above: dict[int, _Node] = {0: root}
    for level in levels:
        above = _add_level(profile, level, above, least)
        if not above:
            break
    return root


def _add_level(
    profile: Profile, level: Level, above: dict[int, _Node], least: int
) -> dict[int, _Node]:
    """Append a level's nodes to their parents; gives the kept ones by position."""
    weights = level.totals.sum(axis=0)
    is_kept = (weights >= least) & (weights > 0)
    positions = np.flatnonzero(is_kept)
    columns = zip(
        positions.tolist(),
        level.parents[positions].tolist(),
        level.frames[positions].tolist(),
        level.totals[:, positions].T.tolist(),
        level.selfs[:, positions].T.tolist(),
        strict=True,
    )
    kept: dict[int, _Node] = {}
    for position, parent, frame, totals, selfs in columns:
        node = _Node(profile.frames[frame], tuple(totals), tuple(selfs))
        above[parent].children.append(node)
        kept[position] = node
    for parent, sums in _folded(level, ~is_kept, above):
        above[parent].children.append(_Node(_FOLDED, sums, sums))
    return kept


def _folded(
    level: Level, is_folded: Array, above: Collection[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Sums of the nodes that are too small, by parent, for the parents that are kept."""
    has_parent = np.zeros(max(int(level.parents.max()), *above) + 1, dtype=bool)
    has_parent[list(above)] = True
    chosen = is_folded & has_parent[level.parents]
    parents = level.parents[chosen]
    if not len(parents):
        return
    first = np.flatnonzero(np.diff(parents, prepend=-1))
    sums = np.add.reduceat(level.totals[:, chosen], first, axis=1)
    for parent, values in zip(parents[first].tolist(), sums.T.tolist(), strict=True):
        if any(values):
            yield parent, tuple(values)


def _threshold(levels: Sequence[Level], max_nodes: int) -> int:
    """The least total a node must have; the `max_nodes`-th largest when there are more."""
    if sum(len(level.frames) for level in levels) <= max_nodes:
        return 0
    weights = np.concatenate([level.totals.sum(axis=0) for level in levels])
    place = len(weights) - max_nodes
    return int(np.partition(weights, place)[place])


def _walk(root: _Node) -> Iterator[_Node]:
    """Every node, a parent before its children, the last child first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _names(root: _Node) -> dict[str, int]:
    names: dict[str, int] = {}
    for node in _walk(root):
        names.setdefault(node.name, len(names))
    return names


def _levels(root: _Node, names: dict[str, int]) -> list[list[int]]:
    sides = range(len(root.totals))
    levels: list[list[int]] = []
    current = [((0,) * len(root.totals), root)]
    while current:
        encoded: list[int] = []
        ends = [0] * len(root.totals)
        below: list[tuple[tuple[int, ...], _Node]] = []
        for starts, node in current:
            for side in sides:
                encoded += [starts[side] - ends[side], node.totals[side], node.selfs[side]]
                ends[side] = starts[side] + node.totals[side]
            encoded.append(names[node.name])
            places = [starts[side] + node.selfs[side] for side in sides]
            for child in node.children:
                below.append((tuple(places), child))
                places = [places[side] + child.totals[side] for side in sides]
        levels.append(encoded)
        current = below
    return levels
