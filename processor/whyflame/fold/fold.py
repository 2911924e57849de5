"""Fold: rows of ids and sums, as the query gives them, to a profile.

Two ways with one result: `fold_rows` needs nothing but Python, `fold_columns` works on numpy arrays
and takes a million groups in a fraction of a second (see `numeric.is_numpy_worth_it`). Nothing is
dropped and nothing rounded; rows whose frames turn out equal are added.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from whyflame.fold.frames import UNKNOWN_FRAME, Dictionary, column_frames, label_by_id
from whyflame.fold.numeric import is_numpy_worth_it
from whyflame.fold.profile import Labels, Profile, SampleType, Stack, build_profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.fold.projection import Query

__all__ = ["Bounds", "empty_profile", "fold_columns", "fold_rows", "is_numpy_worth_it"]

Bounds = tuple[int | None, int | None]
"""First start and last end of the operations asked, ns; None when unknown."""


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
        bounds: First start and last end, from `query.bounds_sql`.
    """
    frame_count, label_end = len(query.frames), len(query.frames) + len(query.labels)
    columns = [set(column) for column in zip(*rows, strict=True)]
    columns = columns or [set() for _ in range(label_end)]
    frames = []
    for number, column in enumerate(query.frames):
        found = column_frames(column, columns[number], dictionary)
        frames.append({value: found.stack(value) for value in columns[number]})
    labels = [
        label_by_id(column, columns[number], dictionary)
        for number, column in enumerate(query.labels, frame_count)
    ]
    names = [column.field for column in query.labels]
    folded = (
        (
            _join(frames, row[:frame_count]) or (UNKNOWN_FRAME,),
            _label_set(names, labels, row[frame_count:label_end]),
            row[label_end:],
        )
        for row in rows
    )
    return build_profile(folded, like=empty_profile(query, bounds))


def _join(frames: Sequence[Mapping[Any, Stack]], keys: Sequence[Any]) -> Stack:
    stack: Stack = ()
    for texts, key in zip(frames, keys, strict=True):
        stack += texts[key]
    return stack


def _label_set(
    names: Sequence[str], labels: Sequence[Mapping[Any, str]], keys: Sequence[Any]
) -> Labels:
    if not names:
        return ()
    pairs = zip(names, (texts[key] for texts, key in zip(labels, keys, strict=True)), strict=True)
    return tuple(sorted(pair for pair in pairs if pair[1]))


def fold_columns(
    query: Query,
    columns: Sequence[Any],
    dictionary: Dictionary,
    bounds: Bounds = (None, None),
) -> Profile:
    """As `fold_rows`, from the result's columns as numpy arrays (`fetchnumpy().values()`)."""
    # Here, not at the top: a cold command on a small store never pays for importing numpy.
    from whyflame.fold.vectors import fold_arrays

    return fold_arrays(query, list(columns), dictionary, like=empty_profile(query, bounds))
