"""Integer arithmetic that both the plain and the vectorised paths share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_numpy_worth_it", "share_out"]

_NUMPY_ROWS = 100_000


def is_numpy_worth_it(rows: int) -> bool:
    """Whether to work on numpy arrays: importing it costs more than it saves below this size."""
    return rows > _NUMPY_ROWS or "numpy" in sys.modules


def share_out(values: Sequence[int], divisor: int, total: int | None = None) -> list[int]:
    """`values` divided by `divisor` in whole numbers that add up exactly to `total`.

    Largest remainder: all are rounded down, then those that lost most get one more; of equal losses
    the earlier first.

    Args:
        values: What to divide.
        divisor: By how much.
        total: What the result must add up to; by default the sum, rounded to the nearest.
    """
    quotients = [value // divisor for value in values]
    if total is None:
        total = (sum(values) + divisor // 2) // divisor
    missing = total - sum(quotients)
    losses = [value % divisor for value in values]
    # The first `missing` of a stable sort, largest loss first.
    order = sorted(range(len(values)), key=losses.__getitem__, reverse=True)
    for index in order[:missing]:
        quotients[index] += 1
    return quotients
