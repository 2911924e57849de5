"""What holds for every segmenter, on every lane."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.unit.segment.made import LANES, call, coding_lane, long_lane, step
from tests.unit.segment.third_party import install

from whyflame.config import SegmentConfig
from whyflame.errors import ConfigError
from whyflame.segment import Lane, Segmenter, load_segmenter, validate
from whyflame.segment.auto.topics import _depths, _peaks
from whyflame.segment.names import load_tables
from whyflame.segment.registry import BUILT_IN
from whyflame.segment.segmenter import BatchSegmenter

Make = Callable[[Path], Segmenter]


def make_third_party(folder: Path) -> Segmenter:
    install(folder)
    importlib.invalidate_caches()
    return load_segmenter(SegmentConfig(segmenter="every-few", options={"every": 3}))


def make_marks(folder: Path) -> Segmenter:
    path = folder / "marks.json"
    path.write_text(
        json.dumps(
            {
                "sequence_field": "session",
                "id_field": "step",
                "operation_names": {"a": "fix login"},
                "marks": [{"sequence": "s", "start_operation_id": "0", "operation_ids": ["a"]}],
            }
        )
    )
    return load_segmenter(SegmentConfig(segmenter="marks", options={"file": str(path)}))


MAKERS: dict[str, Make] = {
    "auto": lambda _: load_segmenter(SegmentConfig()),
    "recurrence": lambda _: load_segmenter(SegmentConfig(), "recurrence"),
    "rules": lambda _: load_segmenter(
        SegmentConfig(segmenter="rules", options={"rules": ["tool:test code=pytest", "llm:read code=look|read"]})
    ),
    # Without excerpts it falls back to `auto`; against a server: tests/integration/segment.
    "llm": lambda _: load_segmenter(SegmentConfig(), "llm"),
    "marks": make_marks,
    "third party": make_third_party,
}  # fmt: skip
VERBS = load_tables().is_verb


@pytest.fixture(params=MAKERS)
def segmenter(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Segmenter:
    monkeypatch.syspath_prepend(tmp_path)
    return MAKERS[request.param](tmp_path)


def test_every_built_in_is_tried() -> None:
    """A new segmenter joins this suite."""
    assert set(BUILT_IN) <= set(MAKERS)


@pytest.mark.parametrize("name", LANES)
def test_marks_are_valid(segmenter: Segmenter, name: str) -> None:
    """Nested, covering, named with a verb first, no equal neighbours; whatever the lane."""
    validate(LANES[name], segmenter.segment(LANES[name]), VERBS)


@pytest.mark.parametrize("name", LANES)
def test_equal_lanes_give_equal_marks(segmenter: Segmenter, name: str) -> None:
    """Nothing is remembered between lanes."""
    first = segmenter.segment(LANES[name])
    segmenter.segment(coding_lane())
    assert list(segmenter.segment(LANES[name])) == list(first)


@pytest.mark.slow
def test_a_lane_of_fifty_thousand_steps(segmenter: Segmenter) -> None:
    """Length is no limit."""
    lane = long_lane(50_000)
    validate(lane, segmenter.segment(lane), VERBS)


def test_peaks_are_those_of_a_walk_uphill() -> None:
    """Depths in one pass are what walking from every place finds, level ground included."""
    chance = random.Random(7)
    for size in range(2, 120):
        values = [chance.choice([chance.random(), 0.25, 0.5]) for _ in range(size)]
        for place, peak in enumerate(_peaks(values)):
            here = place
            while here > 0 and values[here - 1] >= values[here]:
                here -= 1
            assert peak == values[here]


def test_steps_that_are_all_alike_take_no_longer() -> None:
    """A walk from every place would go over all of them: hours, where one pass takes no second."""
    assert _depths(np.full(200_000, 0.5, np.float32)).max() == 0.0


def test_empty_lane_has_no_marks(segmenter: Segmenter) -> None:
    """Nothing in, nothing out."""
    assert list(segmenter.segment(Lane())) == []


def test_batch_equals_one_by_one() -> None:
    """`auto` scores many lanes at once; each comes out as if alone."""
    auto = load_segmenter(SegmentConfig())
    lanes = list(LANES.values())
    assert isinstance(auto, BatchSegmenter)
    many = auto.segment_many(lanes)
    assert many == [auto.segment(lane) for lane in lanes]


@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.text(max_size=20), st.text(max_size=30)), max_size=30
    )
)
def test_any_words_and_tools(rows: list[tuple[str, str, str]]) -> None:
    """`auto` names any lane within its rules."""
    lane = Lane(steps=[step(said, call(tool, arguments)) for said, tool, arguments in rows])
    validate(lane, load_segmenter(SegmentConfig()).segment(lane), VERBS)


def test_unknown_segmenter_lists_the_known_ones() -> None:
    """The error helps."""
    with pytest.raises(ConfigError, match="auto, llm, marks, recurrence, rules"):
        load_segmenter(SegmentConfig(segmenter="magic"))
