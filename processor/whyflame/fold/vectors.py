"""The vectorised fold: a million groups become a sorted profile without a Python loop over them.

Frames are numbered by their text's order, so sorting stacks is sorting integers. Several levels fit
into one 64-bit key; two or three sorts of such keys replace one sort of variable-length stacks.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from whyflame.fold.frames import UNKNOWN_FRAME, ColumnFrames, Dictionary, column_frames, label_by_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.fold.profile import Labels, Profile
    from whyflame.fold.projection import Query

__all__ = [
    "Array",
    "Rows",
    "as_array",
    "fold_arrays",
    "share_out_array",
    "sorted_profile",
    "to_array",
]

Array = NDArray[np.int64]

_KEY_BITS = 62
_T = TypeVar("_T")


def as_array(values: array[int]) -> Array:
    """A numpy view of a profile's array, without a copy."""
    view: Array = np.frombuffer(values, dtype=np.dtype(values.typecode))
    return view


def to_array(typecode: str, values: NDArray[Any]) -> array[int]:
    """A copy as the kind of array that profiles hold."""
    result = array(typecode)
    result.frombytes(np.ascontiguousarray(values, dtype=np.dtype(typecode)).data.cast("B"))
    return result


@dataclass(frozen=True, slots=True)
class _Coded:
    """A column as positions in a short list of its distinct values."""

    positions: Array
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Unsorted stacks in columns.

    Attributes:
        frames: Distinct frame texts, sorted.
        numbers: A row per level, root first; 1 + position in `frames`, 0 where a stack has ended.
        label_sets: Distinct label sets, sorted.
        label_ids: Position in `label_sets` of each stack.
        values: One array per sample type.
    """

    frames: Sequence[str]
    numbers: NDArray[np.int32]
    label_sets: Sequence[Labels]
    label_ids: NDArray[Any]
    values: Sequence[Array]

    def taken(self, order: NDArray[np.intp]) -> Rows:
        """These rows only, in this order."""
        return Rows(
            frames=self.frames,
            numbers=np.stack([level.take(order) for level in self.numbers]),
            label_sets=self.label_sets,
            label_ids=self.label_ids.take(order),
            values=[column.take(order) for column in self.values],
        )


def fold_arrays(
    query: Query, columns: Sequence[NDArray[Any]], dictionary: Dictionary, *, like: Profile
) -> Profile:
    """Profile of a result in columns; `like` gives sample types and times."""
    frame_end, label_end = len(query.frames), len(query.frames) + len(query.labels)
    if not columns or len(columns[0]) == 0:
        return like
    keys = [_code(values) for values in columns[:label_end]]
    texts = [
        column_frames(column, key.values, dictionary)
        for column, key in zip(query.frames, keys[:frame_end], strict=True)
    ]
    frames, numbers = _stack_numbers(keys[:frame_end], texts)
    label_sets, label_ids = _label_sets(query, keys[frame_end:], dictionary, len(columns[0]))
    values = [np.asarray(column, dtype=np.int64) for column in columns[label_end:]]
    return sorted_profile(Rows(frames, numbers, label_sets, label_ids, values), like)


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


def _stack_numbers(
    keys: Sequence[_Coded], texts: Sequence[ColumnFrames]
) -> tuple[list[str], NDArray[np.int32]]:
    shown = {frame for column in texts for frame in column.frames.values() if frame}
    has_empty = [_has_empty(column) for column in texts]
    if all(has_empty):
        shown.add(UNKNOWN_FRAME)
    frames = sorted(shown)
    number_of = {frame: number for number, frame in enumerate(frames, 1)}
    rows = [
        _numbered(column, key.values, number_of) for key, column in zip(keys, texts, strict=True)
    ]
    depth = max(1, sum(max(map(len, of_column)) for of_column in rows))
    numbers = np.zeros((depth, len(keys[0].positions)), dtype=np.int32)
    lengths = np.zeros(numbers.shape[1], dtype=np.int32)
    for key, of_column in zip(keys, rows, strict=True):
        lengths += _push(numbers, lengths, key.positions, of_column)
    if all(has_empty):
        numbers[0, lengths == 0] = number_of[UNKNOWN_FRAME]
    return frames, numbers


def _has_empty(column: ColumnFrames) -> bool:
    """Whether some value of the column shows no frame at all."""
    return "" in column.frames.values() or not all(column.names.values())


def _numbered(
    column: ColumnFrames, values: Sequence[Any], number_of: Mapping[str, int]
) -> list[list[int]]:
    """Frame numbers of every value."""
    numbers = {name: number_of.get(frame, 0) for name, frame in column.frames.items()}
    names = column.names
    if 0 in numbers.values():
        return [[numbers[name] for name in names[value] if numbers[name]] for value in values]
    return [[numbers[name] for name in names[value]] for value in values]


def _push(
    numbers: NDArray[np.int32],
    lengths: NDArray[np.int32],
    positions: Array,
    rows: Sequence[list[int]],
) -> NDArray[np.int32]:
    """Append to every stack the frames of its value; gives how many each got."""
    row_lengths = np.fromiter(map(len, rows), dtype=np.int32, count=len(rows))
    depth = int(row_lengths.max())
    table = np.zeros((len(rows), depth), dtype=np.int32)
    table[np.arange(depth) < row_lengths[:, None]] = list(chain.from_iterable(rows))
    table = np.ascontiguousarray(table.T)
    shortest, longest = int(lengths.min()), int(lengths.max())
    for level in range(depth):
        frames = table[level].take(positions)
        if shortest == longest:
            numbers[shortest + level] = frames
            continue
        for start in range(shortest, longest + 1):
            # A stack that is `start` deep gets this frame at `start + level`.
            is_here = (lengths == start) & (frames > 0)
            np.copyto(numbers[start + level], frames, where=is_here)
    return row_lengths.take(positions)


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
    order: NDArray[np.intp] | None = None
    key, used = np.zeros(rows, dtype=np.int64), 0
    for column, size in digits:
        bits = (size - 1).bit_length()
        if used + bits > _KEY_BITS:
            # The key is full: sort by it, and go on with the rank of each row.
            order, key = _sort(order, key)
            key, used = _ranks(key), rows.bit_length()
        key <<= bits
        key |= column if order is None else column[order]
        used += bits
    return _sort(order, key)[0]


def _sort(order: NDArray[np.intp] | None, key: Array) -> tuple[NDArray[np.intp], Array]:
    by_key = np.argsort(key)
    return (by_key if order is None else order[by_key]), key[by_key]


def _ranks(ordered: Array) -> Array:
    ranks = np.zeros(len(ordered), dtype=np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=ranks[1:])
    return ranks


def sorted_profile(rows: Rows, like: Profile) -> Profile:
    """The profile of unsorted stacks: equal ones added, all-zero ones left out."""
    digits: list[tuple[NDArray[Any], int]] = [
        (level, len(rows.frames) + 1) for level in rows.numbers
    ]
    rows = rows.taken(_sort_order([*digits, (rows.label_ids, len(rows.label_sets))]))
    # Where a row differs from the one before; the others are added to it.
    differs = np.ones(len(rows.label_ids), dtype=bool)
    differs[1:] = np.logical_or.reduce(
        [column[1:] != column[:-1] for column in (*rows.numbers, rows.label_ids)]
    )
    if not differs.all():
        first = np.flatnonzero(differs)
        values = [np.add.reduceat(column, first) for column in rows.values]
        rows = replace(rows.taken(first), values=values)
    is_kept = np.logical_or.reduce([column != 0 for column in rows.values])
    return _packed(rows if is_kept.all() else rows.taken(np.flatnonzero(is_kept)), like)


def _packed(rows: Rows, like: Profile) -> Profile:
    """The profile of sorted rows, without frames and labels that none of them has."""
    stacks = np.ascontiguousarray(rows.numbers.T)
    is_frame = stacks > 0
    offsets = np.zeros(len(stacks) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(rows.numbers, axis=0), out=offsets[1:])
    flat, frames = _compact(stacks[is_frame] - 1, rows.frames)
    label_ids, label_sets = _compact(rows.label_ids, rows.label_sets)
    return replace(
        like,
        frames=frames,
        offsets=to_array("q", offsets),
        frame_ids=to_array("i", flat),
        values=tuple(to_array("q", column) for column in rows.values),
        label_sets=label_sets or ((),),
        label_ids=to_array("i", label_ids),
    )


def _compact(ids: NDArray[Any], table: Sequence[_T]) -> tuple[NDArray[Any], tuple[_T, ...]]:
    """Ids and table without the entries that no id names; the order stays."""
    is_used = np.zeros(len(table), dtype=bool)
    is_used[ids] = True
    if is_used.all():
        return ids, tuple(table)
    kept = tuple(entry for entry, keep in zip(table, is_used.tolist(), strict=True) if keep)
    return (np.cumsum(is_used) - 1)[ids], kept


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
    return to_array("q", quotients)
