"""Changes of topic in long lanes: TextTiling over hashed words, wide windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.auto.bags import unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["topic_cuts"]

MIN_STEPS = 60
_WIDTH = 12
_DEVIATIONS = 1.5
_FLOOR = 0.25
_ALIKE = 0.2  # two tasks share fewer words than that; stages of one task share more
_ROWS = 4096


def topic_cuts(text: NDArray[np.uint64], arguments: NDArray[np.uint64]) -> list[int]:
    """Steps where a new topic begins; empty for lanes under `MIN_STEPS` and for one topic.

    Cosine of tf-idf word counts of the 12 steps on either side; a cut is a local minimum that lies
    deep between its neighbouring peaks and low in itself.
    """
    steps = len(text)
    if steps < MIN_STEPS:
        return []
    similarity = _similarity(text, arguments)
    depth = _depths(similarity)
    limit = float(depth.mean() + _DEVIATIONS * depth.std())
    half = _WIDTH // 2
    fits = (depth > max(limit, _FLOOR)) & (similarity <= _ALIKE)
    fits[: half + 1] = fits[steps - half :] = False
    chosen = np.flatnonzero(fits)
    is_near = np.zeros(steps, np.bool_)
    cuts: list[int] = []
    for step in chosen[np.argsort(-depth[chosen], kind="stable")].tolist():
        if not is_near[step]:
            cuts.append(step)
            is_near[step - half + 1 : step + half] = True
    return sorted(cuts)


def _similarity(text: NDArray[np.uint64], arguments: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Cosine between the windows before and from each step."""
    bags = np.concatenate([unpack(text), unpack(arguments)], axis=1)
    steps = len(bags)
    share = bags.mean(axis=0, dtype=np.float64)
    weight = np.log((1 + steps) / (1 + share * steps)).astype(np.float32)
    similarity = np.empty(steps, np.float32)
    for first in range(0, steps, _ROWS):  # bounded memory for lanes of any length
        last = min(first + _ROWS, steps)
        base, end = max(first - _WIDTH, 0), min(last + _WIDTH, steps)
        counts = np.zeros((end - base + 1, bags.shape[1]), np.int16)
        np.cumsum(bags[base:end], axis=0, out=counts[1:], dtype=np.int16)
        index = np.arange(first, last) - base
        here = counts[first - base : last - base]
        left = (here - counts[np.maximum(index - _WIDTH, 0)]) * weight
        right = (counts[np.minimum(index + _WIDTH, end - base)] - here) * weight
        norm = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
        similarity[first:last] = np.einsum("ij,ij->i", left, right) / np.maximum(norm, 1e-9)
    similarity[0] = 1.0
    return similarity


def _depths(similarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far each local minimum lies below the peaks around it; 0 elsewhere."""
    depth = np.zeros_like(similarity)
    values = similarity.tolist()
    before, after = _peaks(values), _peaks(values[::-1])[::-1]
    for step in range(1, len(values) - 1):
        here = values[step]
        if here <= values[step - 1] and here <= values[step + 1]:
            depth[step] = before[step] + after[step] - 2 * similarity[step]
    return depth


def _peaks(values: list[float]) -> list[float]:
    """For each place the peak reached by walking back uphill; level ground is walked too.

    Each from the one before: a walk from every place would take for ever where steps are alike.
    """
    peaks: list[float] = []
    for place, value in enumerate(values):
        is_uphill = place > 0 and values[place - 1] >= value
        peaks.append(peaks[-1] if is_uphill else value)
    return peaks
