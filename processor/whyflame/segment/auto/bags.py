"""Arithmetic on hashed word bags: counts, overlaps, windows, and what is common in a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bags = NDArray[np.uint64]
    Floats = NDArray[np.float32]

__all__ = ["count", "drop_common", "newness", "overlap", "unpack", "windows"]

_COMMON = 0.35
_MIN_STEPS = 6
_LOW = np.uint32(0x00FF00FF)
_BYTE = 255


def count(bags: Bags) -> Floats:
    """How many bits are set."""
    four = np.ascontiguousarray(np.bitwise_count(bags)).view(np.uint32).ravel()
    pairs = (four & _LOW) + ((four >> 8) & _LOW)  # the sum of four bytes, without a slow reduce
    return np.asarray((pairs + (pairs >> 16)) & np.uint32(0xFFFF), np.float32)


def overlap(one: Bags, two: Bags) -> Floats:
    """Jaccard of two bags; 0 when both are empty."""
    return (count(one & two) / np.maximum(count(one | two), 1)).astype(np.float32)


def newness(bags: Bags, earlier: Bags) -> Floats:
    """Share of the words that the earlier bag lacks; 0 for an empty bag."""
    return (count(bags & ~earlier) / np.maximum(count(bags), 1)).astype(np.float32)


def unpack(bags: Bags) -> NDArray[np.uint8]:
    """One column a bit."""
    rows = np.ascontiguousarray(bags.astype("<u8")).view(np.uint8).reshape(len(bags), -1)
    return np.unpackbits(rows, axis=1)


def drop_common(bags: Bags, starts: NDArray[np.int64], lane: NDArray[np.int64]) -> Bags:
    """The bags without words that many steps of their lane have: those tell nothing apart."""
    steps = np.diff(starts)
    filled = np.flatnonzero(steps)
    if not len(filled):
        return bags
    bits = unpack(bags)
    shares = np.zeros((len(steps), bits.shape[1]), np.int32)
    small = steps.max() <= _BYTE  # then sums fit the bytes, and adding is five times as fast
    dtype = np.uint8 if small else np.int32
    shares[filled] = np.add.reduceat(bits, starts[filled], axis=0, dtype=dtype)
    common = (shares > _COMMON * steps[:, None]) & (steps[:, None] >= _MIN_STEPS)
    mask = np.packbits(common, axis=1).view("<u8").reshape(len(steps), -1)
    kept: Bags = bags & ~mask[lane].astype(np.uint64)
    return kept


def windows(bags: Bags, lane: NDArray[np.int64]) -> dict[int, tuple[Bags, Bags]]:
    """Width -> (union of that many bags before each gap, from it on), inside the lane."""
    left = {1: _shift(bags, lane, 1)}
    right = {1: bags}
    for width in (2, 4, 8):
        half = width // 2
        left[width] = left[half] | _shift(left[half], lane, half)
        right[width] = right[half] | _shift(right[half], lane, -half)
    left[12] = left[8] | _shift(left[4], lane, 8)
    right[12] = right[8] | _shift(right[4], lane, -8)
    return {width: (left[width], right[width]) for width in left}


def _shift(bags: Bags, lane: NDArray[np.int64], distance: int) -> Bags:
    """The bag so many rows earlier (later when negative), empty beyond the lane."""
    shifted = np.zeros_like(bags)
    step = abs(distance)
    if step >= len(bags):
        return shifted
    together = lane[step:] == lane[:-step]
    if distance > 0:
        shifted[step:] = np.where(together[:, None], bags[:-step], 0)
    else:
        shifted[:-step] = np.where(together[:, None], bags[step:], 0)
    return shifted
