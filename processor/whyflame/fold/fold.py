"""Fold: rows of ids and sums, as the query gives them, to a profile.

Two ways with one result: `fold_rows` needs nothing but Python, `fold_columns` works on numpy arrays
and takes a million groups in a fraction of a second (see `numeric.is_numpy_worth_it`). Nothing is
dropped and nothing rounded; rows whose frames turn out equal are added.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
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
from whyflame.fold.stack_words import frame_word, profile_of_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whyflame.fold.projection import Query

__all__ = ["Bounds", "empty_profile", "fold_columns", "fold_rows", "is_numpy_worth_it"]

Bounds = tuple[int | None, int | None]
"""First start and last end of the operations asked, ns; None when unknown."""

_T = TypeVar("_T")


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
    frames, may_be_empty = _shown(texts)
    stacks = _stacks(texts, columns[:frame_end], frames)
    label_sets: list[Labels] = [()]
    labels = [0] * len(rows)
    if query.labels:
        label_sets, labels = _label_sets(query, columns[frame_end:label_end], distinct, dictionary)
    like = replace(like, frames=tuple(frames), label_sets=tuple(label_sets))
    return profile_of_words(stacks, labels, columns[label_end:], like, may_have_unused=may_be_empty)


def _shown(texts: Sequence[ColumnFrames]) -> tuple[list[str], bool]:
    """All frames in order, and whether some row may have none and is shown as unknown."""
    shown = set().union(*(column.frames.values() for column in texts)) - {""}
    if all(column.has_empty for column in texts):
        return sorted(shown | {UNKNOWN_FRAME}), True
    return sorted(shown), False


def _stacks(
    texts: Sequence[ColumnFrames], columns: Sequence[Sequence[Any]], frames: Sequence[str]
) -> list[bytes]:
    """The words of every row's frames; that of "unknown", where it has none."""
    word = {frame: frame_word(number) for number, frame in enumerate(frames)}
    unknown = word.get(UNKNOWN_FRAME)
    word[""] = b""
    parts = [
        _looked_up(_joined(text, word), column) for text, column in zip(texts, columns, strict=True)
    ]
    stacks = list(map(b"".join, zip(*parts, strict=True)))
    return [stack or unknown for stack in stacks] if unknown else stacks


def _first_last(starts: Iterable[int | None], ends: Iterable[int | None]) -> Bounds:
    return (
        min((start for start in starts if start is not None), default=None),
        max((end for end in ends if end is not None), default=None),
    )


def _looked_up(table: Mapping[Any, _T], column: Sequence[Any]) -> list[_T]:
    return list(map(table.__getitem__, column))


def _joined(column: ColumnFrames, word: Mapping[str, bytes]) -> dict[Any, bytes]:
    """The words of every value's frames; what has nothing to show is left out."""
    by_name = {name: word[frame] for name, frame in column.frames.items()}
    return {
        value: b"".join(map(by_name.__getitem__, names)) for value, names in column.names.items()
    }


def _label_sets(
    query: Query,
    columns: Sequence[Sequence[Any]],
    distinct: Sequence[set[Any]],
    dictionary: Dictionary,
) -> tuple[list[Labels], list[int]]:
    """Distinct label sets, sorted, and the position of each row's."""
    texts = [
        label_by_id(column, ids, dictionary)
        for column, ids in zip(query.labels, distinct[len(query.frames) :], strict=True)
    ]
    combinations = list(zip(*columns, strict=True))
    sets = {
        ids: _label_set(query, [of[key] for of, key in zip(texts, ids, strict=True)])
        for ids in set(combinations)
    }
    ordered = sorted(set(sets.values()))
    number_of = {labels: number for number, labels in enumerate(ordered)}
    return ordered, _looked_up(
        {ids: number_of[labels] for ids, labels in sets.items()}, combinations
    )


def _label_set(query: Query, texts: Sequence[str]) -> Labels:
    pairs = zip((column.field for column in query.labels), texts, strict=True)
    return tuple(sorted(pair for pair in pairs if pair[1]))


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
