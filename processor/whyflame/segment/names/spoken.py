"""Verbs of intervals: what was planned, asked or said about them, else what their steps look like."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.names.pieces import CALLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.names.evidence import Evidence

    Rows = NDArray[np.int64]

__all__ = ["choose_verbs"]

_SAID, _UNSAID = math.log(0.6), math.log(0.4)  # how far a verb that was said is believed


def choose_verbs(
    evidence: Evidence,
    pieces: Rows,
    turned: NDArray[np.bool_],
    usual: Rows,
    odds: NDArray[np.float64],
) -> tuple[Rows, NDArray[np.float64]]:
    """Verbs of each interval and their odds: planned, asked at a turn, said, or the usual.

    What is planned or asked for is sure; what is said is likelier than what the steps look like.

    Args:
        evidence: What the numbers in `pieces` mean.
        pieces: By interval, step, place in the step.
        turned: Whether what was asked counts.
        usual: What the steps do, likeliest first. odds: How likely that is.
    """
    planned = evidence.planned[pieces]
    sure = planned[:, :, 0]
    for place in range(CALLS):
        of_call = planned[:, :, 2 + 2 * place]
        sure = np.where(of_call > 0, of_call, sure)
    asked = np.where(sure[:, 0] > 0, sure[:, 0], evidence.asked_verb[pieces[:, 0, 0]])
    sure[:, 0] = np.where(turned & (asked > 0), asked, sure[:, 0])
    spoken = np.where(sure > 0, sure, evidence.said[pieces[:, :, 0]])
    rows = np.arange(len(spoken))
    at = (spoken > 0).argmax(axis=1)
    first, certain = spoken[rows, at], sure[rows, at] > 0
    verbs, odds = usual.copy(), odds.copy()
    for chosen, known in (
        ((first > 0) & certain, (0.0, -np.inf)),
        ((first > 0) & ~certain & (first != usual[:, 0]), (_SAID, _UNSAID)),
    ):
        verbs[chosen, 1:], verbs[chosen, 0] = usual[chosen, :1], first[chosen]
        odds[chosen] = -np.inf
        odds[chosen, : len(known)] = known[: odds.shape[1]]
    return verbs, odds
