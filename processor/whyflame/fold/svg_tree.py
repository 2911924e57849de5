"""The tree an SVG file draws: preorder, the widest child first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.fold.tree import Level, build_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.fold.profile import Profile, SampleType

__all__ = ["MAX_NODES", "ROOT", "SvgTree", "build_svg_tree"]

ROOT = "all"
MAX_NODES = 100_000


@dataclass(frozen=True, slots=True)
class SvgTree:
    """Nodes in preorder, in columns; node 0 is the root.

    Attributes:
        names: Distinct names.
        name: Position in `names` of each node.
        depth: 0 for the root.
        totals: One column per sample type.
        selfs: Of the first sample type.
        types: The sample types, the one that width shows first.
        left_out: How many of the smallest nodes were left out.
    """

    names: list[str]
    name: list[int]
    depth: list[int]
    totals: list[list[int]]
    selfs: list[int]
    types: list[SampleType]
    left_out: int


def build_svg_tree(profile: Profile, widths: Sequence[str], max_nodes: int = MAX_NODES) -> SvgTree:
    """The tree of a profile.

    Args:
        profile: What to draw.
        widths: Sample types whose sum is the width; the others are only told in tooltips.
        max_nodes: The smallest nodes beyond this number are left out; equal ones stay together.
    """
    others = [item.name for item in profile.sample_types if item.name not in widths]
    columns = [*widths, *others]
    types = {item.name: item for item in profile.sample_types}
    levels, left_out = _largest(build_levels(profile, columns), len(widths), max_nodes)
    names: dict[str, int] = {ROOT: 0}
    tree = SvgTree(
        names=[],
        name=[0],
        depth=[0],
        totals=[[profile.total(column)] for column in columns],
        selfs=[0],
        types=[types[column] for column in columns],
        left_out=left_out,
    )
    for depth, position in _preorder(levels, len(widths)):
        level = levels[depth]
        frame = profile.frames[level.frames[position]]
        tree.name.append(names.setdefault(frame, len(names)))
        tree.depth.append(depth + 1)
        tree.selfs.append(int(level.selfs[0, position]))
        for column, value in zip(tree.totals, level.totals[:, position].tolist(), strict=True):
            column.append(value)
    tree.names.extend(names)
    return tree


def _largest(levels: list[Level], widths: int, max_nodes: int) -> tuple[list[Level], int]:
    """Levels without nodes that have no width or are too many, and how many were too many."""
    weights = [np.abs(level.totals[:widths]).sum(axis=0) for level in levels]
    flat = np.concatenate([*weights, np.zeros(0, dtype=np.int64)])
    visible = int((flat > 0).sum())
    least = 1
    if visible > max_nodes:
        least = int(np.partition(flat, len(flat) - max_nodes)[len(flat) - max_nodes])
    kept: list[Level] = []
    place: Any = np.zeros(1, dtype=np.int64)
    for level, weight in zip(levels, weights, strict=True):
        keep = weight >= least
        kept.append(
            Level(
                frames=level.frames[keep],
                parents=place[level.parents[keep]],
                totals=level.totals[:, keep],
                selfs=level.selfs[:, keep],
            )
        )
        place = np.cumsum(keep) - 1
    return kept, visible - sum(len(level.frames) for level in kept)


def _preorder(levels: list[Level], widths: int) -> list[tuple[int, int]]:
    """(level, position) of every node, parents before children, the widest child first."""
    children: list[dict[int, list[int]]] = []
    for level in levels:
        weights = level.totals[:widths].sum(axis=0)
        # Numbers of frames are in the order of their text, which settles equal widths.
        order = np.lexsort((level.frames, -weights, level.parents))
        groups: dict[int, list[int]] = {}
        parents = level.parents[order].tolist()
        for parent, position in zip(parents, order.tolist(), strict=True):
            groups.setdefault(parent, []).append(position)
        children.append(groups)
    visited: list[tuple[int, int]] = []
    waiting = [(-1, 0)]
    while waiting:
        depth, position = waiting.pop()
        if depth >= 0:
            visited.append((depth, position))
        if depth + 1 < len(levels):
            below = children[depth + 1].get(position, [])
            waiting.extend((depth + 1, child) for child in reversed(below))
    return visited
