"""A profile as a tree, level by level, in columns.

The stacks of a profile are sorted, so a node is a run of neighbours that share a prefix: its total
is a sum over that run. No node is an object, which keeps a million of them affordable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.fold.vectors import as_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.fold.profile import Profile
    from whyflame.fold.stack_keys import Array

__all__ = ["Level", "build_levels"]


@dataclass(frozen=True, slots=True)
class Level:
    """All nodes of one depth, from left to right: by parent, then by name.

    Attributes:
        frames: Position of each node's name in `Profile.frames`.
        parents: Position of each node's parent in the level above; all 0 in the first level.
        totals: One row per sample type: value of a node and everything below it.
        selfs: Likewise, of the stacks that end in the node.
    """

    frames: NDArray[Any]
    parents: Array
    totals: Array
    selfs: Array


def build_levels(profile: Profile, names: Sequence[str]) -> list[Level]:
    """The tree's levels below the root, with the values of the sample types called `names`."""
    if profile.is_empty:
        return []
    values = np.stack([as_array(profile.column(name)) for name in names])
    offsets, flat = as_array(profile.offsets), as_array(profile.frame_ids)
    lengths = np.diff(offsets)
    columns = [_column(flat, offsets, lengths, depth) for depth in range(int(lengths.max()))]
    shared = _shared_with_previous(columns)
    levels: list[Level] = []
    above = np.zeros(len(lengths), dtype=np.int64)  # each stack's node in the level above
    for depth, column in enumerate(columns):
        bounds = np.flatnonzero(shared <= depth)
        is_node = lengths[bounds] > depth
        starts = bounds[is_node]
        ends_here = np.where(lengths == depth + 1, values, 0)
        levels.append(
            Level(
                frames=column[starts],
                parents=above[starts],
                totals=np.add.reduceat(values, bounds, axis=1)[:, is_node],
                selfs=np.add.reduceat(ends_here, bounds, axis=1)[:, is_node],
            )
        )
        begins = np.zeros(len(lengths), dtype=np.int64)
        begins[starts] = 1
        above = np.cumsum(begins) - 1
    return levels


def _column(flat: NDArray[Any], offsets: Array, lengths: Array, depth: int) -> NDArray[Any]:
    """Frame of every stack at one depth, -1 where the stack is shorter."""
    column = np.full(len(lengths), -1, dtype=np.int32)
    is_deep = lengths > depth
    column[is_deep] = flat[offsets[:-1][is_deep] + depth]
    return column


def _shared_with_previous(columns: Sequence[NDArray[Any]]) -> NDArray[np.int32]:
    """How many frames each stack shares with the one before it; 0 for the first."""
    shared = np.zeros(len(columns[0]), dtype=np.int32)
    is_same = np.ones(len(shared) - 1, dtype=bool)
    for column in columns:
        is_same &= (column[1:] == column[:-1]) & (column[1:] >= 0)
        shared[1:] += is_same
    return shared
