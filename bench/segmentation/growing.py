"""Lanes that arrive in pieces, as the store sees them: segmented after each, names that stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.segment import Lane, Mark
from whyflame.segment.keeping import keep_prefix, marks_of
from whyflame.segment.name_scoring import paths_of
from whyflame.store.outbox_hold import AGREEING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.segment.auto.segmenter import AutoSegmenter

Path = tuple[str, ...]


@dataclass
class Grown:
    """One lane after its last piece.

    Attributes:
        steps: How many it has. marks: As they are at the end.
        early: Steps exported before the last piece was there. moved: Of these, how many have
            another path at the end.
    """

    steps: int
    marks: list[Mark]
    early: int
    moved: int


def grow(
    lanes: Sequence[Lane], piece: int, segmenter: AutoSegmenter, *, pauses: bool, keeps: bool = True
) -> list[Grown]:
    """Replay lanes in pieces of so many steps.

    Args:
        lanes: Complete ones.
        piece: Steps that arrive together.
        segmenter: Looks after each piece.
        pauses: After each piece nothing comes for so long that all of it is exported; else a step
            is exported once as many versions in a row as the exporter asks for gave it the same path.
        keeps: Exported steps keep their path; False shows what would move.
    """
    ends = [[*range(piece, len(lane.steps), piece), len(lane.steps)] for lane in lanes]
    parts = [
        Lane(request=lane.request, steps=lane.steps[:end])
        for lane, ends_of in zip(lanes, ends, strict=True)
        for end in ends_of
    ]
    fresh = iter(segmenter.segment_many(parts))
    return [
        _replay([(end, next(fresh)) for end in ends_of], pauses=pauses, keeps=keeps)
        for ends_of in ends
    ]


def _replay(versions: list[tuple[int, list[Mark]]], *, pauses: bool, keeps: bool) -> Grown:
    agreeing = 1 if pauses else AGREEING
    exported: dict[int, Path] = {}
    recent: list[list[Path]] = []
    marks: list[Mark] = []
    for number, (end, fresh) in enumerate(versions):
        kept = max(exported, default=-1) + 1 if keeps else 0
        marks = keep_prefix(marks_of(exported), fresh, kept) if kept else fresh
        if number == len(versions) - 1:
            break
        recent = [*recent, paths_of(marks, end)][-agreeing:]
        if len(recent) == agreeing:
            for step, paths in enumerate(zip(*recent, strict=False)):
                if len(set(paths)) == 1:
                    exported.setdefault(step, paths[0])
    steps = versions[-1][0]
    final = paths_of(marks, steps)
    moved = sum(final[step] != path for step, path in exported.items())
    return Grown(steps, marks, len(exported), moved)
