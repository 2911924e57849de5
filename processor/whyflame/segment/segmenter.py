"""The port every segmenter implements, and the check every result passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from whyflame.errors import WhyflameError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyflame.segment.lane import Lane

__all__ = ["BatchSegmenter", "InvalidMarks", "Mark", "Segmenter", "validate"]

MAX_WORDS = 3
MAX_DEPTH = 12


class InvalidMarks(WhyflameError):  # noqa: N818 - names the thing, not the act
    """A segmenter's result breaks a rule; the previous version stays in force."""


@dataclass(frozen=True, slots=True)
class Mark:
    """From this step on, until the next mark, work belongs under `path`.

    Attributes:
        step: Position in the lane.
        path: Names, outermost first; the first is the root, equal in all marks of the lane.
    """

    step: int
    path: tuple[str, ...]


@runtime_checkable
class Segmenter(Protocol):
    """Finds the tasks of one lane.

    A segmenter is a pure function of the lane and its configuration: equal lanes give equal marks,
    in any process, in any order, whatever else is stored. It may be called from several threads.

    Lanes are segmented again when the segmenter, its version, its options or its names file changed.
    One that knows better what its marks depend on (the content of a file, not its name) has a string
    `fingerprint`, which then stands for the options. One whose names begin with other verbs than the
    shipped ones has a `namer` with the `tables` that list them.
    """

    name: str

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks of the lane: the first at step 0, steps ascending; empty for an empty lane."""
        ...


@runtime_checkable
class BatchSegmenter(Protocol):
    """A segmenter for which many lanes at once are cheaper than one after the other."""

    name: str

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """As every segmenter's."""
        ...

    def segment_many(self, lanes: Sequence[Lane]) -> Sequence[Sequence[Mark]]:
        """Marks of each lane, the same as one by one."""
        ...


def validate(lane: Lane, marks: Sequence[Mark], is_verb: Callable[[str], bool]) -> None:
    """Check nesting, covering and names; sparse paths nest by construction.

    Raises:
        InvalidMarks: With the first rule that is broken.
    """
    if not lane.steps:
        if marks:
            raise InvalidMarks("marks for a lane without steps")
        return
    if not marks or marks[0].step != 0:
        raise InvalidMarks("the first mark must start at step 0")
    root, last_step = marks[0].path[:1], -1
    last_path: tuple[str, ...] = ()
    for mark in marks:
        if not last_step < mark.step < len(lane.steps):
            raise InvalidMarks(f"step {mark.step} is outside the lane or out of order")
        if not mark.path or mark.path[:1] != root:
            raise InvalidMarks(f"step {mark.step}: every path must begin with the root {root}")
        if len(mark.path) > MAX_DEPTH:
            raise InvalidMarks(f"step {mark.step}: more than {MAX_DEPTH} levels")
        if mark.path == last_path:
            raise InvalidMarks(f"step {mark.step}: same path as the interval before")
        for name in mark.path:
            _check_name(name, mark.step, is_verb)
        last_step, last_path = mark.step, mark.path


def _check_name(name: str, step: int, is_verb: Callable[[str], bool]) -> None:
    words = name.split(" ")
    if not all(words) or len(words) > MAX_WORDS:
        raise InvalidMarks(f"step {step}: {name!r} is not one to {MAX_WORDS} words")
    if not is_verb(words[0]):
        raise InvalidMarks(f"step {step}: {name!r} does not begin with a verb of the table")
