"""Rows of a step table by their place: neighbours, first times, last times, never beyond a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable

    Rows = NDArray[np.int64]
    Bools = NDArray[np.bool_]

__all__ = ["find_first", "find_last_same", "find_neighbour", "keys_in_lanes"]


def find_neighbour(table: StepTable, distance: int) -> Rows:
    """Row so many steps away, never beyond the lane: lanes of a batch know nothing of each other."""
    starts, ends = table.starts[table.lane], table.starts[table.lane + 1]
    return np.clip(np.arange(len(table.lane)) + distance, starts, ends - 1)


def keys_in_lanes(hashes: NDArray[np.uint32], table: StepTable) -> Rows:
    """The hashes, different in different lanes."""
    return hashes.astype(np.int64) + (table.lane << 33)


def find_first(keys: Rows) -> Bools:
    """True where a key appears for the first time."""
    _, first = np.unique(keys, return_index=True)
    mark = np.zeros(len(keys), bool)
    mark[first] = True
    return mark


def find_last_same(keys: Rows) -> Rows:
    """Row of the last step with the same key; -1 when there is none."""
    order = np.argsort(keys, kind="stable")
    last = np.full(len(keys), -1)
    equal = keys[order][1:] == keys[order][:-1]
    last[order[1:][equal]] = order[:-1][equal]
    return last
