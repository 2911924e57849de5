"""Arithmetic on hashed word bags: counts, overlaps, windows, and what is common in a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bags = NDArray[np.uint64]
    Floats = NDArray[np.float32]

__all__ = ["compare", "count", "drop_common", "overlap", "unpack", "windows"]

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


def windows(bags: Bags, lane: NDArray[np.int64]) -> Iterator[tuple[Bags, Bags]]:
    """Unions of so many bags before each gap and from it on, inside the lane.

    For 1, 2, 4, 8 and 12 bags; one after the other, so that they are still in the cache when used.
    """
    left, right = _shift(bags, lane, 1), bags
    yield left, right
    four = left, right
    for half in (1, 2, 4):
        four = left, right
        left, right = left | _shift(left, lane, half), right | _shift(right, lane, -half)
        yield left, right
    yield left | _shift(four[0], lane, 8), right | _shift(four[1], lane, -8)


def _shift(bags: Bags, lane: NDArray[np.int64], distance: int) -> Bags:
    """The bag so many rows earlier (later when negative), empty beyond the lane."""
    shifted = np.zeros_like(bags)
    step = abs(distance)
    if step >= len(bags):
        return shifted
    beyond = np.flatnonzero(lane[step:] != lane[:-step])
    if distance > 0:
        shifted[step:] = bags[:-step]
        shifted[beyond + step] = 0
    else:
        shifted[:-step] = bags[step:]
        shifted[beyond] = 0
    return shifted
