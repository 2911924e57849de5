"""Boosted trees in plain numpy, evaluated a tree at a time over all rows.

QuickScorer: a tree's leaves are bits of one integer, left to right. Every test that fails (the
value is above the threshold) rules out the leaves on its left; the lowest bit that is not ruled out
is the leaf. So a tree costs a few comparisons of whole columns and no walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_LEAVES", "Forest", "Tree"]

MAX_LEAVES = 8  # so that a set of leaves is one byte


@dataclass(frozen=True)
class Tree:
    """One tree.

    Attributes:
        tests: (column, threshold, leaves on the left as bits).
        leaves: Values, left to right.
    """

    tests: tuple[tuple[int, float, int], ...]
    leaves: NDArray[np.float32]

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """By the leaves that are ruled out, the value of the lowest that is not."""
        leaves = np.zeros(MAX_LEAVES, np.float32)
        leaves[: len(self.leaves)] = self.leaves
        return leaves[_lowest_bits()]


@dataclass(frozen=True)
class Forest:
    """A sum of trees."""

    bias: float
    trees: tuple[Tree, ...]

    def score(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log odds per row; `columns` has one feature a row."""
        rows = columns.shape[1]
        total = np.full(rows, self.bias, np.float32)
        fails: dict[tuple[int, float], NDArray[np.uint8]] = {}
        gone, bits = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
        for tree in self.trees:
            gone.fill(0)
            for column, threshold, left in tree.tests:
                key = (column, threshold)
                failed = fails.get(key)
                if failed is None:
                    failed = fails[key] = (columns[column] > threshold).view(np.uint8)
                np.multiply(failed, np.uint8(left), out=bits)
                np.bitwise_or(gone, bits, out=gone)
            total += tree.values.take(gone)
        return total

    def to_json(self) -> dict[str, Any]:
        """Compact form of the weights file."""
        return {
            "bias": round(self.bias, 4),
            "trees": [
                [
                    [[column, threshold, bits] for column, threshold, bits in tree.tests],
                    [float(f"{value:.4g}") for value in tree.leaves],
                ]
                for tree in self.trees
            ],
        }

    @staticmethod
    def from_json(raw: dict[str, Any]) -> Forest:
        """The reverse of `to_json`."""
        return Forest(
            float(raw["bias"]),
            tuple(
                Tree(
                    tuple(
                        (int(column), float(threshold), int(bits))
                        for column, threshold, bits in tests
                    ),
                    np.asarray(leaves, np.float32),
                )
                for tests, leaves in raw["trees"]
            ),
        )


@cache
def _lowest_bits() -> NDArray[np.uint8]:
    """Leaf that each set of ruled out leaves stands for: the lowest bit that is not set."""
    left = ~np.arange(1 << MAX_LEAVES, dtype=np.int64) & ((1 << MAX_LEAVES) - 1)
    positions = np.zeros(1 << MAX_LEAVES, np.uint8)
    positions[:-1] = np.log2(left[:-1] & -left[:-1]).astype(np.uint8)
    return positions
