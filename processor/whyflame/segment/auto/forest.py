"""Boosted trees in plain numpy, evaluated a tree at a time over all rows.

QuickScorer: a tree's leaves are bits of one integer, left to right. Every test that fails (the
value is above the threshold) clears the leaves on its left; the lowest bit that is left is the
leaf. So a tree costs a few comparisons of whole columns and no walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_LEAVES", "Forest", "Tree"]

MAX_LEAVES = 8  # so that a set of leaves is one byte
_ALL = (1 << MAX_LEAVES) - 1


@dataclass(frozen=True)
class Tree:
    """One tree.

    Attributes:
        tests: (column, threshold, leaves on the left as bits).
        leaves: Values, left to right.
    """

    tests: tuple[tuple[int, float, int], ...]
    leaves: NDArray[np.float32]


@dataclass(frozen=True)
class Forest:
    """A sum of trees."""

    bias: float
    trees: tuple[Tree, ...]

    def score(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log odds per row; `columns` has one feature a row."""
        rows = columns.shape[1]
        total = np.full(rows, self.bias, np.float32)
        lowest = _lowest_bits()
        holds: dict[tuple[int, float], NDArray[np.uint8]] = {}
        left, kept = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
        for tree in self.trees:
            left.fill(_ALL)
            for column, threshold, bits in tree.tests:
                key = (column, threshold)
                mask = holds.get(key)
                if mask is None:  # all ones where the test holds
                    mask = holds[key] = (columns[column] <= threshold) * np.uint8(_ALL)
                np.bitwise_or(mask, np.uint8(_ALL ^ bits), out=kept)
                np.bitwise_and(left, kept, out=left)
            leaves = np.zeros(MAX_LEAVES, np.float32)
            leaves[: len(tree.leaves)] = tree.leaves
            total += leaves[lowest][left]
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
    """Leaf that each set of leaves stands for: its lowest bit."""
    numbers = np.arange(1 << MAX_LEAVES, dtype=np.int64)
    positions = np.zeros(1 << MAX_LEAVES, np.uint8)
    positions[1:] = np.log2(numbers[1:] & -numbers[1:]).astype(np.uint8)
    return positions
