"""pprof samples laid out by numpy: every byte of every sample at once, no loop over samples.

All that a sample holds are varints (tags, lengths, ids, values), so a block of samples is one array
of integers, whose encoded widths say where each begins.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.fold.vectors import Array, as_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.fold.profile import Profile

__all__ = ["encode_samples", "first_use"]

_BLOCK = 1 << 14  # samples at a time: the arrays stay in the cache
_WORKERS = 2
_SAMPLE, _LOCATIONS, _VALUES = 0x12, 0x0A, 0x12
_WIDTH_LIMITS = np.array([1 << 7 * size for size in range(1, 10)], dtype=np.uint64)


def first_use(profile: Profile) -> list[int]:
    """Frame numbers in the order in which the stacks first mention them, root first."""
    flat = as_array(profile.frame_ids)
    first = np.empty(len(profile.frames), dtype=np.int64)
    # Backwards: of repeated positions the last assignment, the earliest mention, stays.
    first[flat[::-1]] = np.arange(len(flat) - 1, -1, -1)
    order: list[int] = np.argsort(first).tolist()
    return order


def encode_samples(profile: Profile, ids: Sequence[int], labels: Sequence[bytes]) -> bytes:
    """The `sample` fields of a profile.

    Args:
        profile: What to write.
        ids: Location id of every frame number.
        labels: Encoded label fields of every label set.
    """
    offsets, flat = as_array(profile.offsets), as_array(profile.frame_ids)
    id_table = np.array(ids, dtype=np.uint64)
    tables = (id_table, _widths(id_table), _Ragged(labels))
    columns = [as_array(column) for column in profile.values]
    label_ids = as_array(profile.label_ids)

    def encode_block(start: int) -> bytes:
        end = min(start + _BLOCK, len(profile))
        bounds = offsets[start : end + 1]
        block = flat[bounds[0] : bounds[-1]]
        values = np.stack([column[start:end] for column in columns], axis=1).view(np.uint64)
        return _encode_block(bounds - bounds[0], block, values, label_ids[start:end], tables)

    starts = range(0, len(profile), _BLOCK)
    if len(starts) <= _WORKERS:
        return b"".join(map(encode_block, starts))
    # numpy lets go of Python's lock inside its loops, so blocks run side by side.
    with ThreadPoolExecutor(_WORKERS) as pool:
        return b"".join(pool.map(encode_block, starts))


class _Ragged:
    """Rows of different lengths in one flat array."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.flat = np.frombuffer(b"".join(rows), dtype=np.uint8)
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths


def _widths(values: NDArray[np.uint64]) -> Array:
    """Bytes of each varint."""
    widths = np.ones(values.shape, dtype=np.int64)
    top = values.max(initial=np.uint64(0))
    for limit in _WIDTH_LIMITS:
        if top < limit:
            break
        widths += values >= limit
    return widths


def _spread(starts: Array, lengths: Array) -> Array:
    """Positions `starts[i] .. starts[i] + lengths[i]`, one row after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def _encode_block(
    offsets: Array,
    frames: NDArray[Any],
    values: NDArray[np.uint64],
    label_ids: NDArray[Any],
    tables: tuple[NDArray[np.uint64], Array, _Ragged],
) -> bytes:
    ids, id_widths, labels = tables
    depths = np.diff(offsets)
    value_widths = _widths(values)
    location_bytes = np.add.reduceat(id_widths[frames], offsets[:-1])
    value_bytes = value_widths.sum(axis=1)
    label_bytes = labels.lengths[label_ids]
    body = (
        2
        + _widths(location_bytes.view(np.uint64))
        + location_bytes
        + _widths(value_bytes.view(np.uint64))
        + value_bytes
        + label_bytes
    )
    # Tokens of a sample: tag, length, tag, length, ids (leaf first), tag, length, values.
    count = values.shape[1]
    counts = 6 + depths + count
    starts = np.cumsum(counts) - counts
    tokens = np.empty(int(counts.sum()), dtype=np.uint64)
    tokens[starts] = _SAMPLE
    tokens[starts + 1] = body
    tokens[starts + 2] = _LOCATIONS
    tokens[starts + 3] = location_bytes
    leaf = starts + 3 + depths
    tokens[np.repeat(leaf + offsets[:-1], depths) - np.arange(len(frames))] = ids[frames]
    tokens[leaf + 1] = _VALUES
    tokens[leaf + 2] = value_bytes
    for position in range(count):
        tokens[leaf + 3 + position] = values[:, position]
    return _write(tokens, starts, counts, label_ids, labels)


def _write(
    tokens: NDArray[np.uint64],
    starts: Array,
    counts: Array,
    label_ids: NDArray[Any],
    labels: _Ragged,
) -> bytes:
    widths = _widths(tokens)
    label_bytes = labels.lengths[label_ids]
    ends = np.cumsum(widths)
    places = ends - widths
    if label_bytes.any():
        shift = np.cumsum(label_bytes) - label_bytes
        places = places + np.repeat(shift, counts)
    out = np.empty(int(ends[-1]) + int(label_bytes.sum()), dtype=np.uint8)
    rest: NDArray[Any] = tokens
    index = places
    is_longer = widths > 1
    out[index] = (rest & 0x7F).astype(np.uint8) | (is_longer.astype(np.uint8) << 7)
    size = 1
    while is_longer.any():
        size += 1
        rest, index, widths = rest[is_longer] >> 7, index[is_longer] + 1, widths[is_longer]
        is_longer = widths > size
        out[index] = (rest & 0x7F).astype(np.uint8) | (is_longer.astype(np.uint8) << 7)
    if label_bytes.any():
        last = starts + counts - 1
        after = places[last] + _widths(tokens[last])
        out[_spread(after, label_bytes)] = labels.flat[
            _spread(labels.starts[label_ids], label_bytes)
        ]
    return out.tobytes()
