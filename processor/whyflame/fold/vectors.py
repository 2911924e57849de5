"""The vectorised fold: a million groups become a sorted profile without a Python loop over them.

Frames are numbered by their text's order, so sorting stacks is sorting integers. Several levels fit
into one 64-bit key; two or three sorts of such keys replace one sort of variable-length stacks.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyflame.fold.frames import UNKNOWN_FRAME, Dictionary, frames_by_id, label_by_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.fold.profile import Labels, Profile
    from whyflame.fold.projection import Query

__all__ = ["Array", "as_array", "fold_arrays", "share_out_array"]

Array = NDArray[np.int64]

_KEY_BITS = 62


def as_array(values: array[int]) -> Array:
    """A numpy view of a profile's array, without a copy."""
    view: Array = np.frombuffer(values, dtype=np.dtype(values.typecode))
    return view


def _to_array(typecode: str, values: NDArray[Any]) -> array[int]:
    result = array(typecode)
    result.frombytes(np.ascontiguousarray(values, dtype=np.dtype(typecode)).tobytes())
    return result


@dataclass(frozen=True, slots=True)
class _Coded:
    """A column as positions in a short list of its distinct values."""

    positions: Array
    values: list[Any]


def fold_arrays(
    query: Query, columns: Sequence[NDArray[Any]], dictionary: Dictionary, *, like: Profile
) -> Profile:
    """Profile of a result in columns; `like` gives sample types and times."""
    frame_end, label_end = len(query.frames), len(query.frames) + len(query.labels)
    if not columns or len(columns[0]) == 0:
        return like
    keys = [_code(values) for values in columns[:label_end]]
    texts = [
        frames_by_id(column, key.values, dictionary)
        for column, key in zip(query.frames, keys[:frame_end], strict=True)
    ]
    shown = {frame for of_column in texts for row in of_column.values() for frame in row}
    frames = sorted({UNKNOWN_FRAME, *shown})
    number_of = {frame: number for number, frame in enumerate(frames, 1)}
    levels = _Levels(len(columns[0]))
    for key, of_column in zip(keys, texts, strict=False):
        levels.push(key, [[number_of[frame] for frame in of_column[value]] for value in key.values])
    levels.fill_empty(number_of[UNKNOWN_FRAME])
    label_sets, label_ids = _label_sets(query, keys[frame_end:], dictionary, len(columns[0]))
    values = [np.asarray(column, dtype=np.int64) for column in columns[label_end:]]
    return _sorted_profile(levels, frames, (label_sets, label_ids), values, like)


def _code(values: NDArray[Any]) -> _Coded:
    if values.dtype == object:
        seen: dict[Any, int] = {}
        positions = [seen.setdefault(value, len(seen)) for value in values]
        return _Coded(np.array(positions, dtype=np.int64), list(seen))
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1024:
        distinct, inverse = np.unique(values, return_inverse=True)
        return _Coded(inverse.astype(np.int64), distinct.tolist())
    # Ids are dense: a table of what occurs is faster than sorting.
    shifted = values - low
    is_there = np.zeros(high - low + 1, dtype=bool)
    is_there[shifted] = True
    place = np.cumsum(is_there) - 1
    return _Coded(place[shifted], (np.flatnonzero(is_there) + low).tolist())


class _Levels:
    """Frame numbers by depth: `levels[d][row]`, 0 where the stack has ended."""

    def __init__(self, rows: int) -> None:
        self.levels: list[NDArray[np.int32]] = []
        self.lengths = np.zeros(rows, dtype=np.int64)
        self._rows = rows

    def push(self, key: _Coded, numbers: list[list[int]]) -> None:
        """Append to every row's stack the frames of its value."""
        depth = max(map(len, numbers))
        table = np.zeros((depth, len(numbers)), dtype=np.int32)
        for position, row in enumerate(numbers):
            table[: len(row), position] = row
        lengths = np.array([len(row) for row in numbers], dtype=np.int64)
        shortest, longest = int(self.lengths.min()), int(self.lengths.max())
        while len(self.levels) < longest + depth:
            self.levels.append(np.zeros(self._rows, dtype=np.int32))
        for level in range(depth):
            frames = table[level][key.positions]
            if shortest == longest:
                self.levels[shortest + level] = frames
                continue
            for start in range(shortest, longest + 1):
                # A stack that is `start` deep gets this frame at `start + level`.
                target = self.levels[start + level]
                np.copyto(target, frames, where=(self.lengths == start) & (frames > 0))
        self.lengths += lengths[key.positions]

    def fill_empty(self, number: int) -> None:
        """Give stacks without any frame this one, so that their width is not lost."""
        is_empty = self.lengths == 0
        if not self.levels:
            self.levels.append(np.zeros(self._rows, dtype=np.int32))
        self.levels[0][is_empty] = number
        self.lengths[is_empty] = 1


def _label_sets(
    query: Query, keys: Sequence[_Coded], dictionary: Dictionary, rows: int
) -> tuple[list[Labels], Array]:
    if not keys:
        return [()], np.zeros(rows, dtype=np.int64)
    combined = _code(keys[0].positions)
    combos: list[tuple[int, ...]] = [(position,) for position in combined.values]
    for key in keys[1:]:
        combined = _code(combined.positions * len(key.values) + key.positions)
        combos = [
            (*combos[value // len(key.values)], value % len(key.values))
            for value in combined.values
        ]
    texts = [
        label_by_id(column, key.values, dictionary)
        for column, key in zip(query.labels, keys, strict=True)
    ]
    sets: list[Labels] = []
    for combo in combos:
        pairs = (
            (column.field, of_column[key.values[position]])
            for column, of_column, key, position in zip(
                query.labels, texts, keys, combo, strict=True
            )
        )
        sets.append(tuple(sorted(pair for pair in pairs if pair[1])))
    distinct = sorted(set(sets))
    number_of = {labels: number for number, labels in enumerate(distinct)}
    table = np.array([number_of[labels] for labels in sets], dtype=np.int64)
    return distinct, table[combined.positions]


def _sort_order(digits: Sequence[tuple[NDArray[Any], int]]) -> NDArray[np.intp]:
    """Rows sorted by several small integers, the first being the most significant.

    Args:
        digits: Columns with the number of values each may take.
    """
    rows = len(digits[0][0])
    key, used = np.zeros(rows, dtype=np.int64), 0
    for column, size in digits:
        bits = max(1, (size - 1).bit_length())
        if used + bits > _KEY_BITS:
            key, used = _dense_rank(key), max(1, rows.bit_length())
        key = (key << bits) | column
        used += bits
    return np.argsort(key)


def _dense_rank(key: Array) -> Array:
    order = np.argsort(key)
    ordered = key[order]
    rank = np.empty(len(key), dtype=np.int64)
    rank[order] = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))
    return rank


def _sorted_profile(
    stacks: _Levels,
    frames: list[str],
    labels: tuple[list[Labels], Array],
    values: list[Array],
    like: Profile,
) -> Profile:
    label_sets, label_ids = labels
    digits: list[tuple[NDArray[Any], int]] = [(level, len(frames) + 1) for level in stacks.levels]
    digits.append((label_ids, len(label_sets)))
    order = _sort_order(digits)
    levels = [level[order] for level in stacks.levels]
    lengths, label_ids = stacks.lengths[order], label_ids[order]
    # Where a row differs from the one before; the others are added to it.
    differs = np.zeros(len(order), dtype=bool)
    differs[0] = True
    for column in [*levels, label_ids.astype(np.int32)]:
        differs[1:] |= column[1:] != column[:-1]
    values = [column[order] for column in values]
    if not differs.all():
        first = np.flatnonzero(differs)
        levels = [level[first] for level in levels]
        lengths, label_ids = lengths[first], label_ids[first]
        values = [np.add.reduceat(column, first) for column in values]
    return _used_only(levels, lengths, frames, (label_sets, label_ids), values, like)


def _used_only(
    levels: list[NDArray[np.int32]],
    lengths: Array,
    frames: list[str],
    labels: tuple[list[Labels], Array],
    values: list[Array],
    like: Profile,
) -> Profile:
    """The profile without stacks of zeros, and without frames and labels that only those had."""
    label_sets, label_ids = labels
    is_kept = np.zeros(len(lengths), dtype=bool)
    for column in values:
        is_kept |= column != 0
    if not is_kept.all():
        levels = [level[is_kept] for level in levels]
        lengths, label_ids = lengths[is_kept], label_ids[is_kept]
        values = [column[is_kept] for column in values]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    flat = np.empty(int(offsets[-1]), dtype=np.int32)
    for depth, level in enumerate(levels):
        is_deep = lengths > depth
        flat[offsets[:-1][is_deep] + depth] = level[is_deep]
    used = np.zeros(len(frames) + 1, dtype=bool)
    used[flat] = True
    flat = (np.cumsum(used) - 1)[flat] if not used[1:].all() else flat - 1
    label_used = np.zeros(len(label_sets), dtype=bool)
    label_used[label_ids] = True
    return replace(
        like,
        frames=tuple(frame for frame, is_used in zip(frames, used[1:], strict=True) if is_used),
        offsets=_to_array("q", offsets),
        frame_ids=_to_array("i", flat),
        values=tuple(_to_array("q", column) for column in values),
        label_sets=tuple(
            labels for labels, is_used in zip(label_sets, label_used, strict=True) if is_used
        )
        or ((),),
        label_ids=_to_array("i", (np.cumsum(label_used) - 1)[label_ids]),
    )


def share_out_array(values: array[int], divisor: int, total: int | None) -> array[int]:
    """As `numeric.share_out`, over a whole array; `divisor` below 2^15."""
    view = as_array(values)
    quotients, lost = np.divmod(view, divisor)
    if total is None:
        total = (int(view.sum()) + divisor // 2) // divisor
    missing = total - int(quotients.sum())
    # Remainders fit 16 bits, which numpy sorts by radix: linear time, and stable.
    order = np.argsort(-lost.astype(np.int16), kind="stable")
    quotients[order[:missing]] += 1
    return _to_array("q", quotients)
