"""Fold: rows of ids and sums, as the query gives them, to a profile.

Two ways with one result: `fold_rows` needs nothing but Python, `fold_columns` works on numpy arrays
and takes a million groups in a fraction of a second (see `numeric.is_numpy_worth_it`). Nothing is
dropped and nothing rounded; rows whose frames turn out equal are added.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import replace
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from whyflame.fold.frames import (
    UNKNOWN_FRAME,
    ColumnFrames,
    Dictionary,
    column_frames,
    label_by_id,
    read_once,
)
from whyflame.fold.numeric import is_numpy_worth_it
from whyflame.fold.profile import Labels, Profile, SampleType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whyflame.fold.projection import Query

__all__ = ["Bounds", "empty_profile", "fold_columns", "fold_rows", "is_numpy_worth_it"]

Bounds = tuple[int | None, int | None]
"""First start and last end of the operations asked, ns; None when unknown."""

_T = TypeVar("_T")

_WORD = 4
_FRAME = 1 << 31  # marks the words of frames, so that the one of the labels sorts before them all
_UNMARK = bytes(value & 0x7F for value in range(256))


def empty_profile(query: Query, bounds: Bounds = (None, None)) -> Profile:
    """A profile of the query's measures without any stack."""
    start, end = bounds
    return Profile(
        sample_types=tuple(SampleType(item.name, item.unit) for item in query.measures),
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=tuple(array("q") for _ in query.measures),
        default=query.default,
        time_ns=start or 0,
        duration_ns=max(0, end - start) if start is not None and end is not None else 0,
    )


def fold_rows(
    query: Query,
    rows: Sequence[Sequence[Any]],
    dictionary: Dictionary,
    bounds: Bounds = (None, None),
) -> Profile:
    """Profile of the rows that `query.sql` gave.

    A stack is bytes while it is put together: a word of four for each frame, numbered by its text's
    order, and one for the labels at the end. So C does the joining, comparing and sorting.

    Args:
        query: What was executed.
        rows: Its result as `fetchall` gives it, in any order.
        dictionary: Where ids become strings.
        bounds: First start and last end, from `query.bounds_sql`; unused when the query is timed.
    """
    if not rows:
        return empty_profile(query, bounds)
    frame_end, label_end = len(query.frames), len(query.frames) + len(query.labels)
    columns = list(zip(*rows, strict=True))
    if query.is_timed:
        *columns, starts, ends = columns
        bounds = _first_last(starts, ends)
    like = empty_profile(query, bounds)
    distinct = [set(column) for column in columns[:label_end]]
    dictionary = read_once((*query.frames, *query.labels), distinct, dictionary)
    texts = [
        column_frames(column, ids, dictionary)
        for column, ids in zip(query.frames, distinct[:frame_end], strict=True)
    ]
    may_be_empty = all(column.has_empty for column in texts)
    shown = set().union(*(column.frames.values() for column in texts)) - {""}
    frames = sorted(shown | {UNKNOWN_FRAME} if may_be_empty else shown)
    word = {frame: _word(_FRAME + number) for number, frame in enumerate(frames)}
    word[""] = b""
    parts = [
        _looked_up(_joined(column, word), columns[number]) for number, column in enumerate(texts)
    ]
    label_sets, last = _label_words(query, columns[frame_end:label_end], distinct, dictionary)
    keys = list(map(b"".join, zip(*parts, last, strict=False)))
    if may_be_empty:
        keys = [key if len(key) > _WORD else word[UNKNOWN_FRAME] + key for key in keys]
    merged = _merged(keys, list(zip(*columns[label_end:], strict=True)))
    kept = {key: merged[key] for key in sorted(merged) if any(merged[key])}
    profile = _packed(kept, frames, label_sets, like)
    return _compact(profile) if may_be_empty or len(kept) < len(merged) else profile


def _first_last(starts: Iterable[int | None], ends: Iterable[int | None]) -> Bounds:
    return (
        min((start for start in starts if start is not None), default=None),
        max((end for end in ends if end is not None), default=None),
    )


def _word(number: int) -> bytes:
    return number.to_bytes(_WORD, "big")


def _looked_up(table: Mapping[Any, bytes], column: Sequence[Any]) -> list[bytes]:
    return list(map(table.__getitem__, column))


def _joined(column: ColumnFrames, word: Mapping[str, bytes]) -> dict[Any, bytes]:
    """The words of every value's frames; what has nothing to show is left out."""
    by_name = {name: word[frame] for name, frame in column.frames.items()}
    return {
        value: b"".join(map(by_name.__getitem__, names)) for value, names in column.names.items()
    }


def _label_words(
    query: Query,
    columns: Sequence[Sequence[Any]],
    distinct: Sequence[set[Any]],
    dictionary: Dictionary,
) -> tuple[list[Labels], Iterable[bytes]]:
    """Distinct label sets, sorted, and the word of each row's."""
    texts = [
        label_by_id(column, ids, dictionary)
        for column, ids in zip(query.labels, distinct[len(query.frames) :], strict=True)
    ]
    if not columns:
        return [()], repeat(_word(0))
    combinations = list(zip(*columns, strict=True))
    sets = {
        ids: _label_set(query, [of[key] for of, key in zip(texts, ids, strict=True)])
        for ids in set(combinations)
    }
    ordered = sorted(set(sets.values()))
    number_of = {labels: number for number, labels in enumerate(ordered)}
    words = {ids: _word(number_of[labels]) for ids, labels in sets.items()}
    return ordered, _looked_up(words, combinations)


def _label_set(query: Query, texts: Sequence[str]) -> Labels:
    pairs = zip((column.field for column in query.labels), texts, strict=True)
    return tuple(sorted(pair for pair in pairs if pair[1]))


def _merged(keys: list[bytes], rows: list[Sequence[int]]) -> dict[bytes, Sequence[int]]:
    """Values by key; those of equal keys are added."""
    merged: dict[bytes, Sequence[int]] = dict(zip(keys, rows, strict=True))
    if len(merged) < len(keys):
        merged = {}
        for key, row in zip(keys, rows, strict=True):
            before = merged.get(key)
            merged[key] = (
                row if before is None else [a + b for a, b in zip(before, row, strict=True)]
            )
    return merged


def _packed(
    merged: Mapping[bytes, Sequence[int]],
    frames: Sequence[str],
    label_sets: Sequence[Labels],
    like: Profile,
) -> Profile:
    """The profile of sorted keys."""
    stacks = [key[:-_WORD] for key in merged]
    flat = bytearray(b"".join(stacks))
    flat[::_WORD] = flat[::_WORD].translate(_UNMARK)
    columns = zip(*merged.values(), strict=True) if merged else [()] * len(like.values)
    return replace(
        like,
        frames=tuple(frames),
        offsets=array("q", accumulate([len(stack) // _WORD for stack in stacks], initial=0)),
        frame_ids=_integers(flat),
        values=tuple(array("q", column) for column in columns),
        label_sets=tuple(label_sets),
        label_ids=_integers(b"".join([key[-_WORD:] for key in merged])),
    )


def _integers(words: bytes | bytearray) -> array[int]:
    numbers = array("i")
    numbers.frombytes(words)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def _compact(profile: Profile) -> Profile:
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


def fold_columns(
    query: Query,
    columns: Sequence[Any],
    dictionary: Dictionary,
    bounds: Bounds = (None, None),
) -> Profile:
    """As `fold_rows`, from the result's columns as numpy arrays (`fetchnumpy().values()`)."""
    # Here, not at the top: a cold command on a small store never pays for importing numpy.
    from whyflame.fold.vectors import first_last, fold_arrays

    columns = list(columns)
    if query.is_timed:
        *columns, starts, ends = columns
        bounds = first_last(starts, ends)
    return fold_arrays(query, columns, dictionary, like=empty_profile(query, bounds))
