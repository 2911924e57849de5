"""Profile: folded stacks, exact integers, sorted, so that equal data give equal bytes.

Columns instead of objects: a million stacks are four arrays. Frames are numbered in the order of
their text, stacks are sorted by frames and distinct, so a tree is a walk over neighbours. Reading
one needs no numpy; the vectorised paths look at the same arrays without copying.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whyflame.fold.names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Labels", "Profile", "SampleType", "Stack", "build_profile"]

Stack = tuple[str, ...]
"""Frames, root first."""

Labels = tuple[tuple[str, str], ...]
"""Sorted (name, value) pairs of a sample."""


@dataclass(frozen=True, slots=True)
class SampleType:
    """What one column of values holds: the measure's name and the unit of its integers."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Folded stacks with a value per sample type.

    Attributes:
        sample_types: Names and units of `values`.
        frames: Distinct frame texts, sorted.
        offsets: Where each stack begins in `frame_ids`; one more at the end.
        frame_ids: Positions in `frames`, stack after stack, root first.
        values: One array per sample type, a value per stack.
        default: Name of the sample type that width shows.
        label_sets: Distinct label sets, sorted.
        label_ids: Position in `label_sets` of each stack.
        time_ns: When the data begin; `duration_ns` how long they last. 0 = unknown.
        comments: Free text for the headers of files.
    """

    sample_types: tuple[SampleType, ...]
    frames: tuple[str, ...]
    offsets: array[int]
    frame_ids: array[int]
    values: tuple[array[int], ...]
    default: str
    label_sets: tuple[Labels, ...] = ((),)
    label_ids: array[int] = field(default_factory=lambda: array("i"))
    time_ns: int = 0
    duration_ns: int = 0
    comments: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.label_ids)

    @property
    def is_empty(self) -> bool:
        """True when no stack is left."""
        return not self.label_ids

    def stack(self, index: int) -> Stack:
        """Frames of one stack, root first."""
        frames = self.frames
        return tuple(
            frames[number]
            for number in self.frame_ids[self.offsets[index] : self.offsets[index + 1]]
        )

    def stacks(self) -> Iterator[tuple[Stack, Labels, tuple[int, ...]]]:
        """Every stack with its labels and its values, in order."""
        rows = zip(*self.values, strict=True)
        for index, values in enumerate(rows):
            yield self.stack(index), self.label_sets[self.label_ids[index]], values

    def column(self, name: str) -> array[int]:
        """The values of one sample type.

        Raises:
            UsageError: The profile has no such sample type.
        """
        for sample_type, values in zip(self.sample_types, self.values, strict=True):
            if sample_type.name == name:
                return values
        raise unknown_name("measure", name, [item.name for item in self.sample_types])

    def unit(self, name: str) -> str:
        """Unit of one sample type."""
        return next(item.unit for item in self.sample_types if item.name == name)

    def total(self, name: str | None = None) -> int:
        """Exact sum of one sample type, by default the one that width shows."""
        return sum(self.column(name or self.default))

    def totals(self) -> dict[str, int]:
        """Exact sum of every sample type."""
        return {
            item.name: sum(values)
            for item, values in zip(self.sample_types, self.values, strict=True)
        }

    def below(self, prefix: Sequence[str]) -> Profile:
        """Only the stacks that begin with `prefix`."""
        wanted = tuple(prefix)
        kept = [row for row in self.stacks() if row[0][: len(wanted)] == wanted]
        return build_profile(kept, like=self)


def build_profile(rows: Iterable[tuple[Stack, Labels, Sequence[int]]], *, like: Profile) -> Profile:
    """Merge rows of equal frames and labels, sort them, number the frames.

    Args:
        rows: Stacks in any order, each with labels and one value per sample type of `like`.
        like: Gives everything but the stacks; may be empty.
    """
    merged: dict[tuple[Stack, Labels], Sequence[int]] = {}
    for stack, labels, values in rows:
        before = merged.get((stack, labels))
        merged[stack, labels] = (
            values if before is None else [a + b for a, b in zip(before, values, strict=True)]
        )
    return _from_merged({key: row for key, row in merged.items() if any(row)}, like)


def _from_merged(merged: Mapping[tuple[Stack, Labels], Sequence[int]], like: Profile) -> Profile:
    keys = sorted(merged)
    frames = tuple(sorted({frame for stack, _ in keys for frame in stack}))
    number_of = {frame: number for number, frame in enumerate(frames)}
    label_sets = tuple(sorted({labels for _, labels in keys})) or ((),)
    label_number = {labels: number for number, labels in enumerate(label_sets)}
    offsets, frame_ids = array("q", [0]), array("i")
    for stack, _ in keys:
        frame_ids.extend([number_of[frame] for frame in stack])
        offsets.append(len(frame_ids))
    columns = zip(*(merged[key] for key in keys), strict=True) if keys else [()] * len(like.values)
    return replace(
        like,
        frames=frames,
        offsets=offsets,
        frame_ids=frame_ids,
        values=tuple(array("q", column) for column in columns),
        label_sets=label_sets,
        label_ids=array("i", [label_number[labels] for _, labels in keys]),
    )
