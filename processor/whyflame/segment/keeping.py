"""Names under which operations were exported stay, however their run grows.

No backend can be corrected. A lane's steps that were exported keep the path they had then; what
follows is cut as the segmenter says now, and an interval that reaches from kept steps into new ones
keeps its names. Where late spans moved an operation below another lane's work, its old path has no
place any more: it gets the new one, and that is drift.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from whyflame.segment.run import LaneMarks, LanePaths
from whyflame.segment.segmenter import MAX_DEPTH, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whyflame.model import Operation
    from whyflame.segment.lane import Lane

__all__ = ["keep_exported", "keep_prefix", "marks_of"]

_Path = tuple[str, ...]


def keep_exported(
    lanes: Sequence[Lane],
    found: Sequence[LaneMarks],
    previous: Mapping[str, LaneMarks],
    operations: Sequence[Operation],
    exported: Mapping[int, _Path],
) -> list[LaneMarks]:
    """The marks found for a run's lanes, changed so that exported operations keep their path.

    Args:
        lanes: Of the run, as it is now. found: Their marks, in the same order.
        previous: Newest stored marks by lane, made by the same segmenter.
        operations: Of the run.
        exported: Path of each operation that was exported, by span key.
    """
    steps = _exported_steps(operations, exported)
    if not steps:
        return list(found)
    by_name = {lane.name: lane for lane in lanes}
    results = {marks.lane: marks for marks in found}
    paths = LanePaths(by_name, {name: marks.marks for name, marks in results.items()})
    for name in _parents_first(by_name):
        new, old = results[name], previous.get(name)
        if new.reused or new.error is not None or name not in steps or not new.marks:
            continue
        root = old.root if old is not None and old.root is not None else new.marks[0].path[0]
        fresh = [Mark(mark.step, (root, *mark.path[1:])) for mark in new.marks]
        paths.set_marks(name, fresh)
        own = _own_paths(steps[name], root, paths.front(name))
        marks = keep_prefix(marks_of(own), fresh, max(own) + 1) if own else fresh
        paths.set_marks(name, marks)
        results[name] = replace(new, marks=tuple(marks))
    return [results[lane.name] for lane in lanes]


def _exported_steps(
    operations: Sequence[Operation], exported: Mapping[int, _Path]
) -> dict[str, dict[int, _Path]]:
    """By lane and step, the path under which the first operation of the step was exported."""
    steps: dict[str, dict[int, _Path]] = {}
    some = [operation for operation in operations if operation.span.span_key in exported]
    for operation in sorted(some, key=lambda operation: operation.seq):
        if operation.step is not None:
            path = exported[operation.span.span_key]
            steps.setdefault(operation.lane, {}).setdefault(operation.step, path)
    return steps


def _parents_first(lanes: Mapping[str, Lane]) -> Iterator[str]:
    """All lanes; each after the one it hangs below, unless they hang below each other."""
    done: set[str] = set()
    for name in lanes:
        above = [name]
        while (parent := lanes[above[-1]].parent) in lanes and parent not in {*above, *done}:
            above.append(str(parent))
        for lane in reversed(above):
            if lane not in done:
                done.add(lane)
                yield lane


def _own_paths(steps: Mapping[int, _Path], root: str, front: _Path) -> dict[int, _Path]:
    """Exported paths as those of the lane; what does not lie below its front is left out."""
    own: dict[int, _Path] = {}
    for step, path in steps.items():
        below = path[len(front) :]
        if path[: len(front)] == front and len(below) < MAX_DEPTH:
            own[step] = (root,) if below == (root,) and not front else (root, *below)
    return own


def marks_of(paths: Mapping[int, _Path]) -> list[Mark]:
    """Paths of some steps as marks; a step without one goes on with the one before."""
    marks: list[Mark] = []
    for step in sorted(paths):
        if not marks or paths[step] != marks[-1].path:
            marks.append(Mark(step if marks else 0, paths[step]))
    return marks


def keep_prefix(kept: Sequence[Mark], fresh: Sequence[Mark], steps: int) -> list[Mark]:
    """Marks that are `kept` before step `steps`, and `fresh` from there on.

    Args:
        kept: Marks that stay, with the root of the fresh ones; the first is at step 0.
        fresh: Of the lane as it is now.
        steps: So many steps stay as they were.
    """
    joined = [mark for mark in kept if mark.step < steps]
    if not joined or not fresh:
        return list(fresh)
    before, here = joined[-1].path, _path_before(fresh, steps)
    shared = len(here)  # levels around the last kept step that nothing has ended since
    for mark in fresh:
        if mark.step >= steps:
            shared = min(shared, _common(here, mark.path))
            path = _below(before[: max(shared, 1)], mark.path[shared:])
            if path != joined[-1].path:
                joined.append(Mark(mark.step, path))
    return joined


def _path_before(marks: Sequence[Mark], step: int) -> _Path:
    """Path of the last step before this one."""
    return [mark.path for mark in marks if mark.step < step][-1]


def _common(one: _Path, two: _Path) -> int:
    """How many levels two paths share."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((level for level, (a, b) in pairs if a != b), min(len(one), len(two)))


def _below(above: _Path, names: _Path) -> _Path:
    """Names below others, none below itself."""
    pairs = pairwise((above[-1], *names))
    return above + tuple(name for parent, name in pairs if name != parent)
