"""The paper's method, and the team's own rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from tests.unit.segment.made import call, coding_lane, step

from whyflame.config import SegmentConfig
from whyflame.errors import ConfigError
from whyflame.segment import Lane, load_segmenter
from whyflame.segment.recurrence import (
    RecurrenceSegmenter,
    count_pairs,
    cut,
    fit,
    fit_calibrated,
    mutual_information,
    two_means,
)
from whyflame.segment.rules import RulesSegmenter

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = [list("ababxyxyabab"), list("abxyabxyab")]


def test_mutual_information_of_pairs() -> None:
    """NPMI with both marginals from the transitions; a sure pair is 1."""
    assert mutual_information(count_pairs([["a", "b"]])) == {("a", "b"): 1.0}
    scores = mutual_information(count_pairs([["a", "b", "a", "c"]]))
    third = 1 / 3
    assert scores["a", "b"] == pytest.approx(math.log(third / (2 / 3 * third)) / -math.log(third))


def test_two_means() -> None:
    """Midpoint of the clusters, by occurrence; None for one value."""
    assert two_means([0.0, 0.1, 1.0], [1, 1, 2]) == pytest.approx((0.05 + 1) / 2)
    assert two_means([0.5, 0.5], [1, 1]) is None


def test_cuts_where_pairs_do_not_recur() -> None:
    """`ab` and `xy` recur; the ways between them and pairs never seen do not."""
    model = fit(REFERENCE)
    assert model is not None
    assert model.is_boundary("b", "a")
    assert not model.is_boundary("x", "y")
    assert model.is_boundary("q", "r")


def test_a_lane_that_cannot_be_told_apart_is_one_interval() -> None:
    """Where the paper's tool ends with an error."""
    lane = Lane(steps=[step("go", call("Bash", "ls")) for _ in range(5)])
    assert len(load_segmenter(SegmentConfig(), "recurrence").segment(lane)) == 1
    assert fit([[]]) is None
    assert fit_calibrated([[]], [[]]) is None


def test_calibration_takes_the_cutoff_that_agrees_best() -> None:
    """The annotated reference decides."""
    groups = [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]
    model = fit_calibrated(REFERENCE, groups)
    assert model is not None
    assert cut(model, list("abxy"))[-1] >= 1


def test_reference_from_a_file(tmp_path: Path) -> None:
    """Counts of elsewhere can be shipped."""
    model = fit(REFERENCE)
    assert model is not None
    path = tmp_path / "reference.json"
    path.write_text(model.to_json())
    made = RecurrenceSegmenter(SegmentConfig(options={"reference": str(path)}))
    lane = Lane(steps=[step(None, call(tool)) for tool in "abxy"])
    assert made.segment(lane)
    with pytest.raises(ConfigError, match="reference"):
        RecurrenceSegmenter(SegmentConfig(options={"reference": str(tmp_path / "none")}))


def rules(*texts: str) -> RulesSegmenter:
    return RulesSegmenter(SegmentConfig(options={"rules": list(texts)}))


def test_first_rule_wins_and_steps_without_match_stay() -> None:
    """The order of the rules counts; silence goes on with what was done before."""
    made = rules(
        "session:fix shop=login",
        "tool:test code=pytest",
        "llm:read code=look|read",
        "all:fix code=fix",
    )
    paths = [(mark.step, mark.path) for mark in made.segment(coding_lane())]
    assert paths == [
        (0, ("fix shop", "read code")),
        (2, ("fix shop", "fix code")),
        (4, ("fix shop", "test code")),
        (5, ("fix shop", "fix code")),
        (6, ("fix shop", "test code")),
    ]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("nonsense", "expected KIND:TAG=REGEX"),
        ("thought:fix code=x", "unknown kind"),
        ("llm:login=x", "begin with a verb"),
        ("llm:fix a b c=x", "one to 3 words"),
        ("llm:fix code=(", "rule"),
    ],
)
def test_wrong_rules_say_what_is_wrong(rule: str, reason: str) -> None:
    """At start-up, with the fix."""
    with pytest.raises(ConfigError, match=reason):
        rules(rule)
    with pytest.raises(ConfigError, match="expected a list"):
        RulesSegmenter(SegmentConfig(options={"rules": "x"}))


def test_coverage_report() -> None:
    """What the rules miss, with samples, shares and warnings."""
    made = rules("tool:test code=pytest", "all:read code=.*")
    assert made.warnings == ["rule 'read code' matches everything"]
    report = rules("tool:test code=pytest").cover([coding_lane()]).report()
    assert report["matched"] == {"tool": 2}
    assert report["unmatched_rate"] > 0.05
    assert report["samples"]
    assert any("unmatched" in warning for warning in report["warnings"])
    assert rules().cover([]).report()["unmatched_rate"] == 0
