"""One run: lanes out of operations, marks for the lanes, paths back onto the operations."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.segment.lane import Lane
from whyflame.segment.names import NameTables, load_tables
from whyflame.segment.names.namer import DEFAULT_ROOT
from whyflame.segment.segmenter import (
    BatchSegmenter,
    InvalidMarks,
    Mark,
    Segmenter,
    validate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whyflame.model import Operation

__all__ = ["LaneMarks", "LanePaths", "apply", "segment_lanes", "tables_of"]

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaneMarks:
    """One version of the intervals of one lane, as stored.

    Attributes:
        lane: Lane id inside the run.
        producer: Segmenter that made the marks. setup: How it was set up (`choose_segmenter`).
        input_sha256: Hash of the lane it saw.
        marks: Sparse marks; their paths begin with the root.
        error: Why nothing new was made (the marks are then the previous ones, or none).
        reused: The input has not changed since the previous version.
        since: See `MarkRow`; of stored marks.
    """

    lane: str
    producer: str
    input_sha256: str
    marks: tuple[Mark, ...] = ()
    error: str | None = None
    reused: bool = False
    setup: str = ""
    since: int = 0

    @property
    def maker(self) -> tuple[str, str]:
        """The segmenter and how it was set up; marks of another maker are made anew."""
        return self.producer, self.setup

    @property
    def root(self) -> str | None:
        """The lane's goal; None for a lane without steps."""
        return self.marks[0].path[0] if self.marks else None


def segment_lanes(
    lanes: Sequence[Lane],
    segmenter: Segmenter,
    previous: Mapping[str, LaneMarks],
    *,
    setup: str = "",
    digest_of: Callable[[Lane], str] = Lane.sha256,
) -> list[LaneMarks]:
    """Marks per lane; only lanes whose input changed are given to the segmenter.

    Args:
        lanes: Of one run.
        segmenter: The configured one.
        previous: Newest stored marks by lane.
        setup: How the segmenter is set up; marks made in another way are made anew.
        digest_of: `Lane.sha256`, or what remembers it.
    """
    results: dict[str, LaneMarks] = {}
    changed: list[tuple[Lane, LaneMarks]] = []
    for lane in lanes:
        new = LaneMarks(lane.name, segmenter.name, digest_of(lane), setup=setup)
        old = previous.get(lane.name)
        if old is not None and old.maker == new.maker and old.input_sha256 == new.input_sha256:
            results[lane.name] = replace(new, marks=old.marks, reused=True)
        else:
            changed.append((lane, new))
    for (lane, new), marks in zip(
        changed, _segment_many([lane for lane, _ in changed], segmenter), strict=True
    ):
        results[lane.name] = _checked(lane, new, marks, segmenter, previous.get(lane.name))
    return [results[lane.name] for lane in lanes]


def _segment_many(lanes: list[Lane], segmenter: Segmenter) -> list[Sequence[Mark] | Exception]:
    try:
        if isinstance(segmenter, BatchSegmenter):
            return list(segmenter.segment_many(lanes))
        return [segmenter.segment(lane) for lane in lanes]
    except Exception:  # noqa: BLE001 - one lane must not take the others down
        return [_attempt(lane, segmenter) for lane in lanes]


def _attempt(lane: Lane, segmenter: Segmenter) -> Sequence[Mark] | Exception:
    try:
        return segmenter.segment(lane)
    except Exception as error:  # noqa: BLE001 - third-party code; reported, counted
        return error


def _checked(
    lane: Lane,
    new: LaneMarks,
    marks: Sequence[Mark] | Exception,
    segmenter: Segmenter,
    old: LaneMarks | None,
) -> LaneMarks:
    """Valid marks, or the previous ones with the reason."""
    problem: str | None = None
    if isinstance(marks, Exception):
        problem = f"{type(marks).__name__}: {marks}"
    else:
        try:
            validate(lane, marks, tables_of(segmenter).is_verb)
            return replace(new, marks=tuple(marks))
        except InvalidMarks as error:
            problem = str(error)
    kept = old.marks if old is not None else ()
    return replace(new, marks=kept, error=problem)


def tables_of(segmenter: Segmenter) -> NameTables:
    """The tables that a segmenter names with; the shipped ones of one that has none."""
    tables = getattr(getattr(segmenter, "namer", None), "tables", None)
    return tables if isinstance(tables, NameTables) else load_tables()


def apply(
    operations: Sequence[Operation],
    marks_by_lane: Mapping[str, Sequence[Mark]],
    lanes: Sequence[Lane],
) -> None:
    """Set `root` and `path` of every operation of one run.

    The path is what lies below the run's goal. A sub-agent's lane carries its parent's path in
    front, then its own goal. Operations outside steps belong to the lane as a whole; calls outside
    steps belong to the step before them.
    """
    paths = LanePaths({lane.name: lane for lane in lanes}, marks_by_lane)
    roots = {name: paths.root(name) for name in {operation.lane for operation in operations}}
    last_step: dict[str, int] = {}
    for operation in sorted(operations, key=attrgetter("seq")):
        lane, step = operation.lane, operation.step
        operation.root = roots[lane]
        if step is not None:
            last_step[lane] = step
        elif operation.operations:
            step = last_step.get(lane, 0)
        if step is not None:
            operation.path = paths.at(lane, step)
        elif operation.kind is Kind.PROMPT:
            operation.path = paths.at(lane, last_step.get(lane, -1) + 1)
        else:
            operation.path = paths.front(lane)


class LanePaths:
    """Paths of lanes, parents first, each worked out once."""

    def __init__(
        self, lanes: Mapping[str, Lane], marks_by_lane: Mapping[str, Sequence[Mark]]
    ) -> None:
        self._lanes = lanes
        self._marks: dict[str, Sequence[Mark]] = {}
        self._steps: dict[str, list[int]] = {}
        self._fronts: dict[str, Path] = {}
        self._paths: dict[tuple[str, int], Path] = {}
        for name, marks in marks_by_lane.items():
            self.set_marks(name, marks)

    def set_marks(self, name: str, marks: Sequence[Mark]) -> None:
        """Other marks for a lane, before anyone asked for what hangs below it."""
        self._marks[name] = marks
        self._steps[name] = [mark.step for mark in marks]
        self._paths.clear()

    def root(self, name: str) -> str:
        """Goal of the run: of the main lane above."""
        seen = {name}
        lane = self._lanes.get(name)
        while lane is not None and lane.parent is not None and lane.parent not in seen:
            if lane.parent not in self._lanes:
                break
            name = lane.parent
            seen.add(name)
            lane = self._lanes[name]
        return self._own_root(name)

    def front(self, name: str) -> Path:
        """What stands before the lane's own names."""
        front = self._fronts.get(name)
        if front is None:
            self._fronts[name] = ()  # a lane that hangs below itself ends here
            front = self._fronts[name] = self._find_front(name)
        return front

    def _find_front(self, name: str) -> Path:
        lane = self._lanes.get(name)
        if lane is None or lane.parent is None or lane.parent not in self._lanes:
            return ()
        above = self.at(lane.parent, lane.parent_step or 0)
        own = self._own_root(name)
        return above if own in (*above[-1:], DEFAULT_ROOT) else (*above, own)

    def at(self, name: str, step: int) -> Path:
        """Full path of a step, without the run's goal."""
        place = max(bisect_right(self._steps.get(name, ()), step) - 1, 0)
        path = self._paths.get((name, place))
        if path is None:
            path = self._paths[name, place] = self._find_path(name, place)
        return path

    def _find_path(self, name: str, place: int) -> Path:
        """Of the steps of an interval, by its place among those of the lane."""
        marks, front = self._marks.get(name, ()), self.front(name)
        own = marks[place].path[1:] if marks else ()
        if own and front and own[0] == front[-1]:
            own = own[1:]
        return (*front, *own) or (self._own_root(name),)

    def _own_root(self, name: str) -> str:
        marks = self._marks.get(name, ())
        return marks[0].path[0] if marks else DEFAULT_ROOT
