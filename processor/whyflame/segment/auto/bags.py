"""Arithmetic on hashed word bags: counts, overlaps, windows, and what is common in a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bags = NDArray[np.uint64]
    Floats = NDArray[np.float32]

__all__ = ["compare", "count", "drop_common", "join_windows", "overlap", "unpack", "windows"]

_COMMON = 0.35
_MIN_STEPS = 6
_LOW = np.uint32(0x00FF00FF)
_BYTE = 255
_ONES = np.uint64(0x0101_0101_0101_0101)


def count(bags: Bags) -> Floats:
    """How many bits are set."""
    four = np.ascontiguousarray(np.bitwise_count(bags)).view(np.uint32).ravel()
    pairs = (four & _LOW) + ((four >> 8) & _LOW)  # the sum of four bytes, without a slow reduce
    return np.asarray((pairs + (pairs >> 16)) & np.uint32(0xFFFF), np.float32)


def overlap(one: Bags, two: Bags) -> Floats:
    """Jaccard of two bags; 0 when both are empty."""
    return _share_of_both(count(one), count(two), count(one & two))


def compare(earlier: Bags, bags: Bags) -> tuple[Floats, Floats]:
    """Overlap of two bags, and the share of the words that the earlier bag lacks (0 if empty)."""
    size, shared = count(bags), count(earlier & bags)
    fresh = (size - shared) / np.maximum(size, 1)
    return _share_of_both(count(earlier), size, shared), fresh.astype(np.float32)


def _share_of_both(one: Floats, two: Floats, shared: Floats) -> Floats:
    return np.asarray(shared / np.maximum(one + two - shared, 1), np.float32)


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
    shares = np.zeros((len(steps), bags.shape[1] * 64), np.int32)
    tally = _tally_in_bytes if steps.max() <= _BYTE else _tally
    shares[filled] = tally(bags, starts[filled])
    common = (shares > _COMMON * steps[:, None]) & (steps[:, None] >= _MIN_STEPS)
    mask = np.packbits(common, axis=1).view("<u8").reshape(len(steps), -1)
    kept: Bags = bags & ~mask[lane].astype(np.uint64)
    return kept


def _tally(bags: Bags, starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many bags of each stretch have each bit, in the order of `unpack`."""
    return np.asarray(np.add.reduceat(unpack(bags), starts, axis=0, dtype=np.int32), np.int32)


def _tally_in_bytes(bags: Bags, starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The same where no sum passes a byte: eight bits are added at once, a byte of a word each."""
    tallies = np.empty((len(starts), bags.shape[1] * 8, 8), np.uint8)
    for bit in range(8):
        sums = np.add.reduceat((bags >> np.uint64(bit)) & _ONES, starts, axis=0)
        # `unpack` has the highest bit of a byte first.
        tallies[:, :, 7 - bit] = sums.astype("<u8").view(np.uint8)
    return tallies.reshape(len(starts), -1)


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


def join_windows(
    one: dict[int, tuple[Bags, Bags]], two: dict[int, tuple[Bags, Bags]]
) -> dict[int, tuple[Bags, Bags]]:
    """Windows of the unions of two columns of bags."""
    return {
        width: (left | two[width][0], right | two[width][1]) for width, (left, right) in one.items()
    }


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
