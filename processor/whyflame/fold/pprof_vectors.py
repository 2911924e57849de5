"""pprof samples laid out by numpy: every byte of every sample at once, no loop over samples.

All that a sample holds are varints (tags, lengths, ids, values), so a block of samples is one array
of integers, whose encoded widths say where each begins.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.fold.vectors import as_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.fold.profile import Profile
    from whyflame.fold.stack_keys import Array

__all__ = ["by_frequency", "encode_samples", "encode_tables"]

_BLOCK = 1 << 14  # samples at a time: the arrays stay in the cache
_SMALL_BLOCK = 1 << 12  # where a few blocks are all: the first is deflated while others are made
_WORKERS = 2
_SAMPLE, _LOCATIONS, _VALUES = 0x12, 0x0A, 0x12
_WIDTH_LIMITS = np.array([1 << 7 * size for size in range(1, 10)], dtype=np.uint64)


def by_frequency(profile: Profile) -> list[int]:
    """As in `pprof`: frame numbers, those that stand in most stacks first."""
    times = np.bincount(as_array(profile.frame_ids), minlength=len(profile.frames))
    order: list[int] = np.argsort(-times, kind="stable").tolist()
    return order


def encode_samples(
    profile: Profile, frame_order: Sequence[int], labels: Sequence[bytes]
) -> Iterator[bytes]:
    """The `sample` fields of a profile, block by block.

    Args:
        profile: What to write.
        frame_order: Frame numbers in the order of their location ids, which run from 1.
        labels: Encoded label fields of every label set.
    """
    offsets, flat = as_array(profile.offsets), as_array(profile.frame_ids)
    id_table = np.empty(len(frame_order), dtype=np.uint64)
    id_table[np.array(frame_order, dtype=np.intp)] = np.arange(1, len(frame_order) + 1)
    tables = (id_table, _widths(id_table), _Ragged(labels))
    columns = [as_array(column) for column in profile.values]
    label_ids = as_array(profile.label_ids)

    is_small = len(profile) <= _BLOCK * _WORKERS
    size = _SMALL_BLOCK if is_small else _BLOCK

    def encode_block(start: int) -> bytes:
        end = min(start + size, len(profile))
        bounds = offsets[start : end + 1]
        block = flat[bounds[0] : bounds[-1]]
        values = np.stack([column[start:end] for column in columns]).view(np.uint64)
        return _encode_block(bounds - bounds[0], block, values, label_ids[start:end], tables)

    starts = range(0, len(profile), size)
    if is_small:
        yield from map(encode_block, starts)
        return
    # numpy lets go of Python's lock inside its loops, so blocks run side by side.
    with ThreadPoolExecutor(_WORKERS) as pool:
        yield from pool.map(encode_block, starts)


def encode_tables(names: Sequence[int]) -> bytes:
    """The `location` and `function` fields, numbered alike.

    Args:
        names: Position in the string table of each function's name.
    """
    count = len(names)
    ids = np.arange(1, count + 1, dtype=np.uint64)
    id_width = _widths(ids)
    texts = np.array(names, dtype=np.uint64)
    # Location i: id i, mapping 1, one line in function i. All lengths fit one byte.
    line = 1 + id_width
    location = (0x22, 5 + id_width + line, 0x08, ids, 0x10, 1, 0x22, line, 0x08, ids)
    function = (0x2A, 2 + id_width + _widths(texts), 0x08, ids, 0x10, texts)
    return _table(location, count) + _table(function, count)


def _table(columns: Sequence[Any], count: int) -> bytes:
    tokens = np.empty((count, len(columns)), dtype=np.uint64)
    for number, column in enumerate(columns):
        tokens[:, number] = column
    flat = tokens.ravel()
    widths = _widths(flat)
    ends = np.cumsum(widths, dtype=np.int64)
    out = np.empty(int(ends[-1]) if count else 0, dtype=np.uint8)
    _write_varints(out, ends - widths, flat, widths)
    return out.tobytes()


class _Ragged:
    """Rows of different lengths in one flat array."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.flat = np.frombuffer(b"".join(rows), dtype=np.uint8)
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.has_any = bool(self.lengths.any())


def _widths(values: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Bytes of each varint."""
    widths = np.ones(values.shape, dtype=np.uint8)
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
    tables: tuple[NDArray[np.uint64], NDArray[np.uint8], _Ragged],
) -> bytes:
    ids, id_widths, labels = tables
    depths = np.diff(offsets)
    value_widths = _widths(values)
    location_bytes = np.add.reduceat(id_widths[frames], offsets[:-1], dtype=np.int64)
    value_bytes = value_widths.sum(axis=0, dtype=np.int64)
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
    count = len(values)
    counts = 6 + depths + count
    starts = np.cumsum(counts) - counts
    tokens = np.empty(int(counts.sum()), dtype=np.uint64)
    leaf = starts + 3 + depths
    tokens[np.repeat(leaf + offsets[:-1], depths) - np.arange(len(frames))] = ids[frames]
    parts = [(starts, _SAMPLE), (starts + 1, body), (starts + 2, _LOCATIONS)]
    parts += [(starts + 3, location_bytes), (leaf + 1, _VALUES), (leaf + 2, value_bytes)]
    parts += [(leaf + 3 + position, column) for position, column in enumerate(values)]
    for place, part in parts:
        tokens[place] = part
    return _write(tokens, counts, label_ids, labels)


def _write(
    tokens: NDArray[np.uint64],
    counts: Array,
    label_ids: NDArray[Any],
    labels: _Ragged,
) -> bytes:
    """All tokens as varints, one after the other, each sample followed by its label fields."""
    widths = _widths(tokens)
    ends = np.cumsum(widths, dtype=np.int64)
    places = ends - widths
    if not labels.has_any:
        out = np.empty(int(ends[-1]), dtype=np.uint8)
        _write_varints(out, places, tokens, widths)
        return out.tobytes()
    label_bytes = labels.lengths[label_ids]
    shift = np.cumsum(label_bytes)
    before = shift - label_bytes
    out = np.empty(int(ends[-1] + shift[-1]), dtype=np.uint8)
    source = _spread(labels.starts[label_ids], label_bytes)
    out[_spread(ends[np.cumsum(counts) - 1] + before, label_bytes)] = labels.flat[source]
    _write_varints(out, places + np.repeat(before, counts), tokens, widths)
    return out.tobytes()


def _write_varints(
    out: NDArray[np.uint8], places: Array, tokens: NDArray[np.uint64], widths: NDArray[np.uint8]
) -> None:
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    written = 1
    is_longer = widths > written
    while True:
        out[places] = (tokens.astype(np.uint8) & 0x7F) | (is_longer.view(np.uint8) << 7)
        rest = np.flatnonzero(is_longer)
        if not len(rest):
            return
        tokens, places, widths = tokens[rest] >> np.uint64(7), places[rest] + 1, widths[rest]
        written += 1
        is_longer = widths > written
