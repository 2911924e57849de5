"""Where to cut, given scores: as many cuts as the scores expect, strongest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expected_cuts"]


def expected_cuts(scores: NDArray[np.float32], share: float) -> list[int]:
    """Steps that begin an interval.

    The number of cuts is `share` times the sum of the boundary probabilities: the model says how
    many boundaries a lane has, also when it lacks text and no single gap is certain.

    Args:
        scores: Log odds per step; the first is ignored.
        share: More makes finer intervals.
    """
    if len(scores) < 2:  # noqa: PLR2004 - a lane of one step has no gap
        return []
    gaps = scores[1:]
    count = round(share * float(np.sum(1 / (1 + np.exp(-gaps)))))
    if count <= 0:
        return []
    count = min(count, len(gaps))
    strongest = np.argsort(-gaps, kind="stable")[:count]
    return [int(step) + 1 for step in np.sort(strongest)]
