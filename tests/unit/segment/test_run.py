"""Marks become paths of operations; sub-agents, repeats and failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.segment.made import features

from whyflame.config import SegmentConfig
from whyflame.model import Kind, Operation, Span
from whyflame.segment import (
    Lane,
    LaneMarks,
    Mark,
    Segmenter,
    apply,
    build_lanes,
    load_segmenter,
    segment_lanes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def op(kind: Kind, lane: str, step: int | None, seq: int, **fields: object) -> Operation:
    said = fields.pop("said", None)
    span = Span("", "span", b"", b"", None, 0, 1, "x", kind, "t")
    span.span_key = seq + 1000 * len(lane)
    if said:
        span.features = features(kind, response=said)
    made = Operation(
        span, lane=lane, step=step, seq=seq, kind=kind, counted=True,
        operations=int(kind in (Kind.LLM, Kind.TOOL)),
    )  # fmt: skip
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def segment_run(
    operations: list[Operation],
    segmenter: Segmenter,
    previous: Mapping[str, LaneMarks] | None = None,
) -> list[LaneMarks]:
    """Segment the lanes of one run and put its operations below the names."""
    lanes = build_lanes(operations)
    found = segment_lanes(lanes, segmenter, previous or {})
    apply(operations, {marks.lane: marks.marks for marks in found}, lanes)
    return found


def run() -> list[Operation]:
    sub = {"lane_parent": "main", "lane_parent_step": 1}
    return [
        op(Kind.AGENT, "main", None, 0),
        op(Kind.LLM, "main", 0, 1, said="look at the login"),
        op(Kind.TOOL, "main", 0, 2, tool="Read"),
        op(Kind.LLM, "main", 1, 3, said="delegate the logs"),
        op(Kind.TOOL, "main", None, 4, tool="Task"),
        op(Kind.AGENT, "sub", None, 0, **sub),
        op(Kind.LLM, "sub", 0, 1, said="read the logs", **sub),
    ]


MARKS = {
    "main": [Mark(0, ("fix shop", "inspect login")), Mark(1, ("fix shop", "delegate logs"))],
    "sub": [Mark(0, ("report logs", "inspect error"))],
}


def test_paths_lie_below_the_root() -> None:
    """`root` is the goal of the run, also for sub-agents, whose paths carry the outer path."""
    operations = run()
    apply(operations, MARKS, build_lanes(operations))
    assert {operation.root for operation in operations} == {"fix shop"}
    assert [operation.path for operation in operations] == [
        (),
        ("inspect login",),
        ("inspect login",),
        ("delegate logs",),
        ("delegate logs",),  # a call outside steps belongs to the step before it
        ("delegate logs", "report logs"),
        ("delegate logs", "report logs", "inspect error"),
    ]


def test_a_path_is_never_empty_inside_steps() -> None:
    """Without intervals the goal itself is the path."""
    operations = run()[:3]
    apply(operations, {"main": [Mark(0, ("fix shop",))]}, build_lanes(operations))
    assert operations[1].path == ("fix shop",)


def test_lanes_that_hang_below_each_other_end() -> None:
    """A loop of lanes is cut, not followed."""
    operations = [
        op(Kind.LLM, "a", 0, 0, lane_parent="b", lane_parent_step=0),
        op(Kind.LLM, "b", 0, 0, lane_parent="a", lane_parent_step=0),
    ]
    segment_run(operations, load_segmenter(SegmentConfig()))
    assert all(operation.path for operation in operations)


def test_features_of_a_view_that_does_not_count_are_used() -> None:
    """The wire view counts, the framework's view has the text."""
    wire = op(Kind.LLM, "main", 0, 1)
    view = op(Kind.LLM, "main", 0, 2, said="fix the login", counted=False, operations=0)
    view.same_as = wire.span.span_key
    lane = build_lanes([wire, view])[0]
    assert len(lane.steps) == 1
    assert lane.steps[0].features == view.span.features


def test_unchanged_lanes_are_not_segmented_again() -> None:
    """Equal input keeps the version; a changed lane gets a new one."""
    segmenter = load_segmenter(SegmentConfig())
    first = {marks.lane: marks for marks in segment_run(run(), segmenter)}
    again = segment_run(run(), segmenter, first)
    assert all(marks.reused for marks in again)
    longer = [*run(), op(Kind.LLM, "main", 2, 9, said="done")]
    changed = {marks.lane: marks for marks in segment_run(longer, segmenter, first)}
    assert not changed["main"].reused
    assert changed["sub"].reused


class Broken:
    """Breaks a rule on one lane and raises on the other."""

    name = "broken"

    def segment(self, lane: Lane) -> Sequence[Mark]:
        if lane.parent is not None:
            raise RuntimeError("no idea")
        return [Mark(0, ("login",))]


def test_violations_fail_closed() -> None:
    """The previous version stays in force and the reason is told."""
    old = {"main": LaneMarks("main", "auto", "x", (Mark(0, ("fix shop", "test login")),))}
    operations = run()
    found = {marks.lane: marks for marks in segment_run(operations, Broken(), old)}
    assert "verb" in (found["main"].error or "")
    assert "no idea" in (found["sub"].error or "")
    assert found["main"].marks == old["main"].marks
    assert operations[1].path == ("test login",)
