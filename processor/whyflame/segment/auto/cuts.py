"""Where to cut, given scores: as many cuts as the scores expect, strongest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expected_cuts"]


def expected_cuts(
    scores: NDArray[np.float32], share: float, starts: NDArray[np.int64]
) -> list[list[int]]:
    """Steps that begin an interval, for each of many stretches of steps.

    The number of cuts is `share` times the sum of the boundary probabilities: the model says how
    many boundaries a lane has, also when it lacks text and no single gap is certain.

    Args:
        scores: Log odds per step; the first of every stretch is ignored.
        share: More makes finer intervals.
        starts: Row of each stretch's first step, with the end of the last one as last entry.

    Returns:
        Per stretch its cuts, ascending, counted from its start.
    """
    lengths = np.diff(starts)
    stretch = np.repeat(np.arange(len(lengths)), lengths)
    chances = 1 / (1 + np.exp(-scores.astype(np.float64)))
    filled = np.flatnonzero(lengths)
    chances[starts[filled] - starts[0]] = 0.0
    counts = np.zeros(len(lengths), np.int64)
    sums = np.add.reduceat(chances, starts[filled] - starts[0]) if len(filled) else chances
    counts[filled] = np.rint(share * sums)
    counts = np.minimum(counts, np.maximum(lengths - 1, 0))
    ranked = np.where(chances > 0, scores, -np.inf)
    order = np.lexsort((-ranked, stretch))
    place = np.arange(len(order)) - (starts[:-1] - starts[0])[stretch]
    chosen = np.sort(order[place < counts[stretch]])
    cuts = np.split(chosen - (starts[:-1] - starts[0])[stretch[chosen]], np.cumsum(counts)[:-1])
    return [part.tolist() for part in cuts]
