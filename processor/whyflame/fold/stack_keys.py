"""Stacks as integers, so that sorting a million of them is sorting a few columns of numbers.

Frames are numbered by their text's order, from 1; 0 says that a stack has ended. Several levels share a
64-bit word, the root highest, and the label set is the last digit: words compare as stacks do.
"""

from __future__ import annotations

from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyflame.fold.profile import Labels, Profile

__all__ = ["Array", "Rows", "StackKeys", "to_array"]

Array = NDArray[np.int64]

_KEY_BITS = 62
_LONG = 200_000
_BLOCK = 1 << 14  # rows at a time: what is made of them stays in the cache
_T = TypeVar("_T")
_U = TypeVar("_U")


def to_array(typecode: str, values: NDArray[Any]) -> array[int]:
    """A copy as the kind of array that profiles hold."""
    result = array(typecode)
    result.frombytes(np.ascontiguousarray(values, dtype=np.dtype(typecode)).data.cast("B"))
    return result


class StackKeys:
    """The words of many stacks, filled level by level.

    Args:
        frames: Distinct frame texts, sorted.
        label_sets: Distinct label sets, sorted.
        depth: Levels of the deepest stack.
        rows: How many stacks.
        may_have_unused: Whether there may be frames and label sets that no row has.
    """

    def __init__(
        self,
        frames: Sequence[str],
        label_sets: Sequence[Labels],
        depth: int,
        rows: int,
        *,
        may_have_unused: bool = True,
    ) -> None:
        self.frames, self.label_sets, self.depth = frames, label_sets, depth
        self.may_have_unused = may_have_unused
        sizes = [len(frames).bit_length()] * depth + [(len(label_sets) - 1).bit_length()]
        # Behind the first word a row's rank among those before takes its part of the key.
        self._rank_bits = rows.bit_length()
        self._places: list[tuple[int, int]] = []
        word, free = 0, _KEY_BITS
        for bits in sizes:
            if bits > free:
                word, free = word + 1, _KEY_BITS - self._rank_bits
            free -= bits
            self._places.append((word, free))
        self.words = [np.zeros(rows, dtype=np.int64) for _ in range(word + 1)]

    def push_labels(self, label_ids: Array) -> None:
        """The position of each row's label set."""
        word, shift = self._places[-1]
        self.words[word] |= label_ids << shift

    def push(self, level: int, table: NDArray[np.int32], positions: NDArray[np.intp]) -> None:
        """Frames of every row from one level on, where it is the same for all rows.

        Args:
            level: Where the first of them goes.
            table: Frame numbers of each value of a column, a row per level.
            positions: Which value each row has.
        """
        packed: dict[int, Array] = {}
        for frames, (word, shift) in zip(table, self._places[level:-1], strict=False):
            digits = frames.astype(np.int64) << shift
            packed[word] = packed[word] | digits if word in packed else digits
        for word, digits in packed.items():
            self.words[word] |= digits.take(positions)

    def push_behind(
        self, levels: NDArray[np.int64], table: NDArray[np.int32], positions: NDArray[np.intp]
    ) -> None:
        """As `push`, where each row has a level of its own."""
        shallow, deep = int(levels.min()), int(levels.max())
        for number, frames in enumerate(table):
            digits = frames.astype(np.int64).take(positions)
            places = self._places[number : number + deep + 1]
            for word in range(places[shallow][0], places[-1][0] + 1):
                # A level that is in another word is multiplied by nothing.
                factors = np.array([1 << shift if at == word else 0 for at, shift in places])
                self.words[word] |= digits * factors.take(levels)

    def order(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Rows in order, and which of them differ from the one before."""
        order = _sort_order(self.words[0])
        key = self.words[0].take(order)
        for word in self.words[1:]:
            ranks = np.zeros(len(key), dtype=np.int64)
            np.cumsum(key[1:] != key[:-1], out=ranks[1:])
            key = ranks << (_KEY_BITS - self._rank_bits) | word.take(order)
            # Nearly in order already, which this way of sorting is quick with.
            by_key = np.argsort(key, kind="stable")
            order, key = order.take(by_key), key.take(by_key)
        differs = np.ones(len(key), dtype=bool)
        differs[1:] = key[1:] != key[:-1]
        return order, differs

    def _stacks(self, rows: NDArray[np.intp]) -> tuple[array[int], array[int]]:
        """Frame numbers of some rows from 0, stack after stack, and where each begins."""
        lengths = np.zeros(len(rows) + 1, dtype=np.int64)
        frame_ids = array("i")
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            stacks = self._levels(block, lengths[start + 1 : start + 1 + len(block)])
            flat = stacks[stacks > 0]
            flat -= 1
            frame_ids.frombytes(flat.data.cast("B"))
        return frame_ids, to_array("q", np.cumsum(lengths))

    def _levels(self, rows: NDArray[np.intp], lengths: Array) -> NDArray[np.int32]:
        """Frame numbers of a few rows, a column per level; adds up how many each has."""
        words = [word.take(rows) for word in self.words]
        stacks = np.empty((len(rows), self.depth), dtype=np.int32)
        mask = (1 << len(self.frames).bit_length()) - 1
        for level, (word, shift) in enumerate(self._places[:-1]):
            frames = (words[word] >> shift) & mask
            lengths += frames > 0
            stacks[:, level] = frames
        return stacks

    def _labels(self, rows: NDArray[np.intp]) -> Array:
        word, shift = self._places[-1]
        mask = (1 << (len(self.label_sets) - 1).bit_length()) - 1
        return (self.words[word].take(rows) >> shift) & mask

    def profile(self, values: Sequence[Array], like: Profile) -> Profile:
        """The profile of all rows: equal stacks added, all-zero ones left out.

        Args:
            values: One array per sample type, a value per row.
            like: Gives sample types and times.
        """
        order, differs = self.order()
        first = None if differs.all() else np.flatnonzero(differs)
        kept = order if first is None else order.take(first)
        stacks, columns = _side_by_side(
            len(kept),
            lambda: self._stacks(kept),
            lambda: [_added(column.take(order), first) for column in values],
        )
        is_kept = np.logical_or.reduce([column != 0 for column in columns])
        if is_kept.all():
            return self._packed(kept, stacks, columns, like)
        self.may_have_unused = True
        rest = np.flatnonzero(is_kept)
        rows = kept.take(rest)
        return self._packed(
            rows, self._stacks(rows), [column.take(rest) for column in columns], like
        )

    def _packed(
        self,
        rows: NDArray[np.intp],
        stacks: tuple[array[int], array[int]],
        columns: Sequence[Array],
        like: Profile,
    ) -> Profile:
        """The profile of some rows in order, without frames and labels that none of them has."""
        frame_ids, offsets = stacks
        label_ids = to_array("i", self._labels(rows))
        frames, label_sets = tuple(self.frames), tuple(self.label_sets)
        if self.may_have_unused:
            frame_ids, frames = _compact(frame_ids, frames)
            label_ids, label_sets = _compact(label_ids, label_sets)
        return replace(
            like,
            frames=frames,
            offsets=offsets,
            frame_ids=frame_ids,
            values=tuple(to_array("q", column) for column in columns),
            label_sets=label_sets or ((),),
            label_ids=label_ids,
        )


def _side_by_side(rows: int, left: Callable[[], _T], right: Callable[[], _U]) -> tuple[_T, _U]:
    """What both give, at the same time where that is worth it: numpy lets go of Python's lock."""
    if rows < _LONG:
        return left(), right()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(right)
        return left(), other.result()


def _sort_order(word: Array) -> NDArray[np.intp]:
    """As `argsort`, in two halves where that is worth it; equal ones come in any order."""
    if len(word) < _LONG:
        return np.argsort(word)
    middle = np.median(word[:: len(word) // 1000])
    low, high = np.flatnonzero(word < middle), np.flatnonzero(word >= middle)
    halves = _side_by_side(
        len(word),
        lambda: low.take(np.argsort(word.take(low))),
        lambda: high.take(np.argsort(word.take(high))),
    )
    return np.concatenate(halves)


def _added(column: Array, first: NDArray[np.intp] | None) -> Array:
    """Rows of each group added; `first` are those that begin one."""
    return column if first is None else np.add.reduceat(column, first)


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
    label_ids: Array
    values: Sequence[Array]

    def profile(self, like: Profile) -> Profile:
        """Their profile; `like` gives sample types and times."""
        keys = StackKeys(self.frames, self.label_sets, len(self.numbers), len(self.label_ids))
        keys.push(0, self.numbers, np.arange(len(self.label_ids)))
        keys.push_labels(self.label_ids)
        return keys.profile(self.values, like)


def _compact(ids: array[int], table: tuple[_T, ...]) -> tuple[array[int], tuple[_T, ...]]:
    """Ids and table without the entries that no id names; the order stays."""
    is_used = np.zeros(len(table), dtype=bool)
    view = np.frombuffer(ids, dtype=np.int32)
    is_used[view] = True
    if is_used.all():
        return ids, table
    kept = tuple(entry for entry, keep in zip(table, is_used.tolist(), strict=True) if keep)
    return to_array("i", (np.cumsum(is_used) - 1)[view]), kept
