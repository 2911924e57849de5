"""Stacks as bytes, so that C joins, compares and sorts them: small profiles, without numpy.

A stack is a word of four bytes a frame, numbered by its text's order. Its key ends with the word of
its label set, which sorts before any frame. `stack_keys` is the same with numpy.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import replace
from itertools import accumulate, compress
from operator import add, ne, not_
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.fold.profile import Profile

__all__ = ["frame_word", "profile_of_words"]

_WORD = 4
_FRAME = 1 << 31
_UNMARK = bytes(value & 0x7F for value in range(256))
_T = TypeVar("_T")


def frame_word(number: int) -> bytes:
    """The word of a frame; `number` is the position of its text among all, sorted."""
    return (_FRAME + number).to_bytes(_WORD, "big")


def profile_of_words(
    stacks: Sequence[bytes],
    labels: Sequence[int],
    columns: Sequence[Sequence[int]],
    like: Profile,
    *,
    may_have_unused: bool,
) -> Profile:
    """The profile of all rows: equal stacks added, all-zero ones left out.

    Args:
        stacks: The words of each row's frames.
        labels: Position in `like.label_sets` of each row's labels.
        columns: One per sample type, a value per row.
        like: Gives frames and label sets, sorted, sample types and times.
        may_have_unused: Whether there may be frames and label sets that no row has.
    """
    keys = stacks
    if len(like.label_sets) > 1:
        words = [number.to_bytes(_WORD, "big") for number in range(len(like.label_sets))]
        keys = list(map(add, stacks, map(words.__getitem__, labels)))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    if len(set(keys)) < len(keys):
        order, columns = _added(keys, order, columns)
    if not any(map(all, columns)):
        kept = [row for row in order if any(column[row] for column in columns)]
        may_have_unused, order = may_have_unused or len(kept) < len(order), kept
    profile = replace(
        _packed(list(map(stacks.__getitem__, order)), like),
        values=tuple(array("q", map(column.__getitem__, order)) for column in columns),
        label_ids=array("i", map(labels.__getitem__, order)),
    )
    return _without_unused(profile) if may_have_unused else profile


def _added(
    keys: Sequence[bytes], order: Sequence[int], columns: Sequence[Sequence[int]]
) -> tuple[list[int], Sequence[Sequence[int]]]:
    """The first row of each key, in order, and columns that hold its sum there."""
    ordered = list(map(keys.__getitem__, order))
    is_first = [True, *map(ne, ordered, ordered[1:])]
    sums = [list(column) for column in columns]
    first_of: dict[int, int] = {}
    # Paths of equal names are rare: all but these few rows are passed over in C.
    for place in compress(range(len(order)), map(not_, is_first)):
        row, before = order[place], order[place - 1]
        first = first_of[row] = first_of.get(before, before)
        for column in sums:
            column[first] += column[row]
    return list(compress(order, is_first)), sums


def _packed(stacks: Sequence[bytes], like: Profile) -> Profile:
    """`like` with the frames of sorted stacks."""
    flat = bytearray(b"".join(stacks))
    flat[::_WORD] = flat[::_WORD].translate(_UNMARK)
    frame_ids = array("i")
    frame_ids.frombytes(flat)
    if sys.byteorder == "little":
        frame_ids.byteswap()
    ends = accumulate(map(len, stacks), initial=0)
    return replace(like, offsets=array("q", [end // _WORD for end in ends]), frame_ids=frame_ids)


def _without_unused(profile: Profile) -> Profile:
    """The same profile without frames and label sets that no stack has."""
    frame_ids, frames = _of_used(profile.frame_ids, profile.frames)
    label_ids, label_sets = _of_used(profile.label_ids, profile.label_sets)
    return replace(
        profile,
        frames=frames,
        frame_ids=frame_ids,
        label_sets=label_sets or ((),),
        label_ids=label_ids,
    )


def _of_used(numbers: array[int], values: tuple[_T, ...]) -> tuple[array[int], tuple[_T, ...]]:
    """The same numbers, but of those values only that occur."""
    used = sorted(set(numbers))
    if len(used) == len(values):
        return numbers, values
    place = {number: position for position, number in enumerate(used)}
    return array("i", map(place.__getitem__, numbers)), tuple(values[number] for number in used)
