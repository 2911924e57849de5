"""Which segmenter is used, and what tells that its marks have to be made anew."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.segment.made import coding_lane
from tests.unit.segment.third_party import install

from whyflame.config import SegmentConfig
from whyflame.segment.registry import Chosen, choose_segmenter
from whyflame.segment.run import segment_lanes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are installed."""
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def choose(**options: Any) -> Chosen:
    return choose_segmenter(SegmentConfig(segmenter="every-few", options=options))


@pytest.mark.usefixtures("elsewhere")
def test_changed_options_segment_again() -> None:
    """Also where the segmenter can take no attribute from others."""
    lane = coding_lane()
    first, other = choose(every=4), choose(every=2)
    assert not hasattr(first.segmenter, "fingerprint")
    (made,) = segment_lanes([lane], first.segmenter, {}, setup=first.setup)
    (again,) = segment_lanes([lane], first.segmenter, {"main": made}, setup=first.setup)
    (finer,) = segment_lanes([lane], other.segmenter, {"main": made}, setup=other.setup)
    assert (again.reused, finer.reused) == (True, False)
    assert [mark.step for mark in made.marks] == [0, 4]
    assert [mark.step for mark in finer.marks] == [0, 2, 4, 6]


def test_another_version_is_another_setup(elsewhere: Path) -> None:
    before = choose(every=4).setup
    assert choose(every=4).setup == before
    install(elsewhere, "1.1")
    importlib.invalidate_caches()
    assert choose(every=4).setup != before


def test_what_changes_the_marks_changes_the_setup(tmp_path: Path) -> None:
    """Options, granularity, the content of the names file; not the same written in another order."""
    names = tmp_path / "names.yaml"
    names.write_text("verbs: {fix: [mend]}\n")
    setups = [
        choose_segmenter(SegmentConfig()).setup,
        choose_segmenter(SegmentConfig(granularity=3.0)).setup,
        choose_segmenter(SegmentConfig(names_file=str(names))).setup,
        choose_segmenter(SegmentConfig(), "recurrence").setup,
    ]
    names.write_text("verbs: {edit: [mend]}\n")
    setups.append(choose_segmenter(SegmentConfig(names_file=str(names))).setup)
    assert len(set(setups)) == len(setups)
    rules = {"rules": ["tool:test code=pytest"]}
    one = SegmentConfig(segmenter="rules", options={**rules})
    two = SegmentConfig(segmenter="rules", options={"rules": ["tool:read code=cat"]})
    assert choose_segmenter(one).setup == choose_segmenter(one).setup
    assert choose_segmenter(one).setup != choose_segmenter(two).setup


def test_how_a_model_is_reached_changes_nothing() -> None:
    """Asking it again would cost money."""
    near = {"endpoint": "http://127.0.0.1:8080/v1", "tokens_per_hour": 5}
    far = {"endpoint": "http://127.0.0.1:9090/v1"}
    one = choose_segmenter(SegmentConfig(segmenter="llm", options=near))
    two = choose_segmenter(SegmentConfig(segmenter="llm", options=far))
    other = choose_segmenter(SegmentConfig(segmenter="llm", options={"model": "large"}))
    assert one.setup == two.setup != other.setup
