"""What was exported keeps its path; what follows is cut as the segmenter says now."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.model import Kind, Operation, Span
from whyflame.segment import Lane, LaneMarks, Mark, Step, apply, build_lanes, validate
from whyflame.segment.keeping import keep_exported, keep_prefix

STEPS = 12
_NAMES = st.sampled_from(["fix login", "test login", "read file"])


@st.composite
def marks(draw: st.DrawFn) -> list[Mark]:
    """Valid marks of a lane of twelve steps."""
    found: list[Mark] = []
    for step in [0, *sorted(draw(st.sets(st.integers(1, STEPS - 1), max_size=6)))]:
        path = ("fix shop", *draw(st.lists(_NAMES, max_size=3)))
        if not found or path != found[-1].path:
            found.append(Mark(step, path))
    return found


def paths(found: list[Mark], steps: int = STEPS) -> list[tuple[str, ...]]:
    at = {mark.step: mark.path for mark in found}
    path, listed = found[0].path, []
    for step in range(steps):
        path = at.get(step, path)
        listed.append(path)
    return listed


@given(marks(), marks(), st.integers(0, STEPS))
def test_the_kept_part_is_kept_and_all_of_it_valid(
    kept: list[Mark], fresh: list[Mark], steps: int
) -> None:
    """Whatever both versions say."""
    joined = keep_prefix(kept, fresh, steps)
    validate(Lane(steps=[Step()] * STEPS), joined, lambda _: True)
    assert paths(joined)[:steps] == paths(kept)[:steps]
    if steps == 0:
        assert joined == fresh


@given(marks(), marks(), st.integers(1, STEPS))
def test_no_cut_that_the_segmenter_does_not_make(
    kept: list[Mark], fresh: list[Mark], steps: int
) -> None:
    """Behind the kept part there are only its boundaries."""
    joined = paths(keep_prefix(kept, fresh, steps))
    said = paths(fresh)
    for step in range(steps, STEPS):
        if said[step] == said[step - 1]:
            assert joined[step] == joined[step - 1]


@given(st.lists(marks(), min_size=2, max_size=5), st.data())
def test_a_lane_that_grows_again_and_again(versions: list[list[Mark]], data: st.DataObject) -> None:
    """Each export adds to what stays."""
    now, exported = versions[0], 0
    for fresh in versions[1:]:
        exported = data.draw(st.integers(exported, STEPS))
        later = keep_prefix(now, fresh, exported)
        assert paths(later)[:exported] == paths(now)[:exported]
        now = later


@pytest.mark.parametrize(
    ("kept", "fresh", "expected"),
    [
        # An interval that goes on keeps its names until it ends.
        ([(0, "a b")], [(0, "x"), (7, "y")], [(0, "a b"), (7, "y")]),
        # It ends where the last kept step ends.
        ([(0, "a b")], [(0, "x"), (5, "y")], [(0, "a b"), (5, "y")]),
        # Only its inner level ends.
        ([(0, "a b")], [(0, "x z"), (7, "x y"), (9, "w")], [(0, "a b"), (7, "a y"), (9, "w")]),
        # What follows has the name already: one interval.
        ([(0, "a")], [(0, "x"), (7, "a"), (9, "b")], [(0, "a"), (9, "b")]),
        # No name below itself.
        ([(0, "a b")], [(0, "x z"), (7, "x a")], [(0, "a b"), (7, "a")]),
    ],
)
def test_how_both_are_joined(
    kept: list[tuple[int, str]], fresh: list[tuple[int, str]], expected: list[tuple[int, str]]
) -> None:
    """Five steps stay; each letter is a level."""

    def read(listed: list[tuple[int, str]]) -> list[Mark]:
        return [Mark(step, ("r", *path.split())) for step, path in listed]

    assert keep_prefix(read(kept), read(fresh), 5) == read(expected)


def _operation(lane: str, step: int, key: int) -> Operation:
    span = Span("", "span", b"", b"", None, 0, 1, "x", Kind.LLM, "t", span_key=key)
    made = Operation(span, lane=lane, step=step, seq=key, kind=Kind.LLM, counted=True, operations=1)
    if lane != "main":
        made.lane_parent, made.lane_parent_step = "main", 1
    return made


def test_lanes_below_others_keep_what_still_lies_there() -> None:
    """A path is kept below the front that it was exported with; one from elsewhere is not."""
    operations = [_operation("main", step, step) for step in range(4)]
    operations += [_operation("sub", step, 10 + step) for step in range(4)]
    exported = {
        0: ("read file",),
        1: ("read file",),
        10: ("read file", "review code", "test login"),
        11: ("read file", "review code", "test login"),
        12: ("inspect work",),  # it was a step of another lane then
    }
    lanes = build_lanes(operations)
    found = [
        LaneMarks("main", "auto", "", (Mark(0, ("fix shop", "edit page")), Mark(2, ("fix shop", "run it")))),
        LaneMarks("sub", "auto", "", (Mark(0, ("review code", "open page")), Mark(3, ("review code", "close it")))),
    ]  # fmt: skip
    main, sub = keep_exported(lanes, found, {}, operations, exported)
    assert main.marks == (Mark(0, ("fix shop", "read file")), Mark(2, ("fix shop", "run it")))
    assert sub.marks == (
        Mark(0, ("review code", "test login")),
        Mark(3, ("review code", "close it")),
    )
    apply(operations, {"main": main.marks, "sub": sub.marks}, lanes)
    kept = {op.span.span_key: op.path for op in operations}
    assert all(kept[key] == path for key, path in exported.items() if key != 12)
