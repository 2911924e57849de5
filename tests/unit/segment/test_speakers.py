"""Who speaks: settings of lanes, the order of speakers, and weights of each setting."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.segment.made import call, coding_lane, step

from whyflame.segment import Lane, Step
from whyflame.segment.auto.forest import Forest
from whyflame.segment.auto.gaps import Blocks
from whyflame.segment.auto.places import find_first, find_last_same, find_neighbour
from whyflame.segment.auto.speakers import (
    ALONE,
    CONVERSATION,
    SETTINGS,
    TEAM,
    describe_speakers,
    find_settings,
)
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.weights import LOGISTIC_SHARE, Head, Logistic


def talk(*speakers: str, turns: int = 1) -> Lane:
    """A lane in which these speak, over so many turns of equal length."""
    share = len(speakers) / turns
    return Lane(steps=[Step(agent=one, turn=int(n / share)) for n, one in enumerate(speakers)])


@pytest.mark.parametrize(
    ("lane", "setting"),
    [
        (coding_lane(), ALONE),
        (talk("a", "b", "a", "b"), ALONE),
        (talk("a", "b", "c", "a"), TEAM),
        (talk("a", "a", "a", turns=3), CONVERSATION),
        (talk("a", "b", "c", turns=3), CONVERSATION),
        (talk("a", "a", "a", "a", turns=2), ALONE),
        (talk(*"a" * 16, turns=3), CONVERSATION),
        (talk(*"a" * 40, turns=3), ALONE),
    ],
)
def test_setting_is_how_many_speak_and_how_often_a_user_does(lane: Lane, setting: int) -> None:
    """Three speakers are a team, frequent turns a conversation; names do not matter."""
    assert set(find_settings(read_steps([lane])).tolist()) == {setting}


def test_settings_of_a_batch_are_those_of_its_lanes() -> None:
    """Also beside lanes without steps."""
    lanes = [Lane(), talk("a", "b", "c"), Lane(), talk("a"), talk("a", "a", "a", turns=3), Lane()]
    assert find_settings(read_steps(lanes)).tolist() == [TEAM] * 3 + [ALONE] + [CONVERSATION] * 3


def test_speakers_of_a_batch_are_those_of_its_lanes() -> None:
    """Equal names in other lanes count for nothing."""
    lanes = [talk("a", "b", "a", "c"), talk("b", "a", "b"), coding_lane(), talk("c", "c")]
    apart = [describe_speakers(read_steps([lane])) for lane in lanes]
    assert np.array_equal(describe_speakers(read_steps(lanes)), np.concatenate(apart))


def test_speakers_say_who_has_the_lane_and_who_comes_back() -> None:
    """Of the third step of a, b, a, c: a opened the lane, has half of it, and is back."""
    row = describe_speakers(read_steps([talk("a", "b", "a", "c")]))[2].tolist()
    assert row[:9] == [pytest.approx(np.log1p(3)), 0.5, 0.25, 1, 0, 1, 0, 0, 1]


def test_places_stay_in_their_lane() -> None:
    """Neighbours, first times and last times."""
    table = read_steps([talk("a", "a"), talk("a", "b", "a")])
    assert find_neighbour(table, -1).tolist() == [0, 0, 2, 2, 3]
    assert find_neighbour(table, 2).tolist() == [1, 1, 4, 4, 4]
    keys = np.asarray([7, 7, 5, 6, 5])
    assert find_first(keys).tolist() == [True, False, True, True, False]
    assert find_last_same(keys).tolist() == [-1, 0, -1, -1, 2]


def test_each_setting_is_scored_by_its_own_weights() -> None:
    """In one batch as alone."""
    models = tuple(
        Logistic(float(number), {"code": np.asarray([0, 10], np.float32)},
                 {"number": np.asarray([number], np.float32), "speakers": np.zeros(0, np.float32)})
        for number in range(SETTINGS)
    )  # fmt: skip
    numbers = np.asarray([[1], [2], [3], [4]], np.float32)
    blocks = Blocks(
        {"code": (np.asarray([0, 1, 0, 0]), 2)}, {"number": numbers, "speakers": numbers[:, :0]}, numbers,
        np.asarray([TEAM, ALONE, CONVERSATION, TEAM]),
    )  # fmt: skip
    head = Head(models, Forest(0.0, ()))
    scores = head.score(blocks, blocks.columns())
    assert scores == pytest.approx(LOGISTIC_SHARE * np.asarray([4, 10, 4, 10]))
    for row in range(4):
        alone = blocks.take(np.asarray([row]))
        assert head.score(alone, alone.columns()) == scores[row]


def test_a_result_alone_is_told_from_a_call() -> None:
    """The step after next to a result that nobody asked for in the lane."""
    result = step(None, call("terminal", None, result="done"))
    row = describe_speakers(read_steps([Lane(steps=[step("look"), step("run it"), result])]))
    assert row[:, 9].tolist() == [0, 1, 1]
