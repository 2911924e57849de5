"""`auto`: structure counts, text helps, nothing else is needed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.unit.segment.made import call, coding_lane, features, step

from whyflame.config import SegmentConfig
from whyflame.model import Kind
from whyflame.segment import Lane, Step, load_segmenter
from whyflame.segment.auto.cuts import expected_cuts
from whyflame.segment.auto.forest import Forest, Tree
from whyflame.segment.auto.gui import interaction_cuts
from whyflame.segment.auto.nesting import nest
from whyflame.segment.auto.topics import topic_cuts


def test_names_a_coding_session() -> None:
    """Look, fix and test are apart, below the request's goal."""
    marks = load_segmenter(SegmentConfig()).segment(coding_lane())
    assert marks[0].path[0] == "fix login page"
    names = [mark.path[-1] for mark in marks]
    assert len(names) >= 2
    assert any(name.startswith("fix") for name in names)
    assert any("login" in name for name in names)


def test_plan_items_are_marks() -> None:
    """Items of a plan in progress cut and name the work."""

    def plan(item: str) -> Step:
        return step(None, call("TodoWrite", "{}", plan=((item, "in_progress"),)))

    work = [step("go on", call("Bash", "ls")) for _ in range(4)]
    lane = Lane(steps=[plan("Install dependencies"), *work, plan("Train the model"), *work])
    marks = load_segmenter(SegmentConfig()).segment(lane)
    at = {mark.step: mark.path for mark in marks}
    assert at[0][1].startswith("install")
    assert at[5][1] == "train model"


def test_granularity_makes_finer_or_coarser() -> None:
    """Fewer expected steps, more intervals."""
    lane = Lane(steps=coding_lane().steps * 6)
    fine = load_segmenter(SegmentConfig(granularity=2)).segment(lane)
    coarse = load_segmenter(SegmentConfig(granularity=20)).segment(lane)
    assert len(fine) > len(coarse)


@pytest.mark.parametrize(
    ("point", "put", "commit", "chord"),
    [
        ("click", "type", "press", "hotkey"),
        ("LeftClick", "TypeText", "PressKey", "Hotkey"),
        ("pyautogui.click", "pyautogui.typewrite", "pyautogui.press", "pyautogui.hotkey"),
        ("browser_click", "browser_type", "browser_press_key", "key_combination"),
        ("DOUBLE_CLICK", "INPUT_TEXT", "KEYPRESS", "SHORTCUT"),
    ],
)
def test_gestures_are_known_by_the_words_of_their_names(
    point: str, put: str, commit: str, chord: str
) -> None:
    """Whatever a driver of screens calls them."""
    tools = [point, put, commit, point, "mouse_down", "move_to", "mouse_up", chord, "scroll_down"]
    lane = Lane(steps=[step(None, call(tool)) for tool in tools])
    assert interaction_cuts(lane) == [3, 8]


def test_gestures_end_where_something_else_is_pointed_at() -> None:
    """Click, type and enter are one interaction."""
    tools = ["click", "type", "press", "click", "click", "type"]
    lane = Lane(steps=[step(None, call(tool)) for tool in tools])
    assert interaction_cuts(lane) == [3, 4]
    assert interaction_cuts(coding_lane()) is None


def test_long_lanes_are_cut_where_the_topic_changes() -> None:
    """Two unrelated halves of eighty steps each."""
    words = ["alpha beta gamma delta", "kernel driver module patch"]
    lane = Lane(
        steps=[step(f"{words[n // 80]} {n % 7}", call("Bash", words[n // 80])) for n in range(160)]
    )
    text = np.frombuffer(b"".join((s.features or b"")[40:72] for s in lane.steps), "<u8").reshape(
        -1, 4
    )
    cuts = topic_cuts(text.astype(np.uint64), np.zeros_like(text, dtype=np.uint64))
    assert cuts == [80]
    assert topic_cuts(text[:50].astype(np.uint64), np.zeros((50, 4), np.uint64)) == []


def cut_one(scores: list[float], share: float) -> list[int]:
    edges = np.asarray([0, len(scores)])
    return expected_cuts(np.asarray(scores, np.float32), share, edges)[0]


@given(st.lists(st.floats(-8, 8), max_size=40), st.floats(0, 3))
def test_cuts_are_the_strongest_gaps(scores: list[float], share: float) -> None:
    """Ascending, inside the lane, none weaker than one left out, as many as expected."""
    cuts = cut_one(scores, share)
    assert cuts == sorted(set(cuts))
    assert all(0 < cut < len(scores) for cut in cuts)
    rest = [scores[i] for i in range(1, len(scores)) if i not in cuts]
    if cuts and rest:
        assert min(np.float32(scores[cut]) for cut in cuts) >= np.float32(max(rest))
    expected = share * sum(1 / (1 + np.exp(-score)) for score in scores[1:])
    assert abs(len(cuts) - min(expected, max(len(scores) - 1, 0))) <= 0.5 + 1e-3


@given(st.lists(st.lists(st.floats(-8, 8), max_size=12), min_size=1, max_size=5), st.floats(0, 3))
def test_cuts_of_a_lane_do_not_depend_on_its_neighbours(
    lanes: list[list[float]], share: float
) -> None:
    """A batch gives what lanes one by one give."""
    scores = np.asarray([score for lane in lanes for score in lane], np.float32)
    edges = np.cumsum([0, *map(len, lanes)])
    assert expected_cuts(scores, share, edges) == [cut_one(lane, share) for lane in lanes]


def test_forest_walks_like_a_tree() -> None:
    """The bit trick gives the leaf that walking gives."""
    tree = Tree(((0, 0.5, 0b011), (1, 2.0, 0b001)), np.asarray([10, 20, 30], np.float32))
    columns = np.asarray([[0.0, 0.0, 1.0], [1.0, 3.0, 1.0]], np.float32)
    assert Forest(1.0, (tree,)).score(columns).tolist() == [11, 21, 31]
    again = Forest.from_json(Forest(1.0, (tree,)).to_json())
    assert again.score(columns).tolist() == [11, 21, 31]


@given(st.lists(st.lists(st.integers(1, 29), unique=True), min_size=1, max_size=4))
def test_nesting_never_has_equal_neighbours(levels: list[list[int]]) -> None:
    """Whatever names come, marks differ from the ones before and begin with the root."""
    marks = nest(
        "root", 30, [sorted(cuts) for cuts in levels], lambda start, _: [f"n{start % 2}", "m"]
    )
    assert marks[0][0] == 0
    assert all(one[1] != two[1] for one, two in itertools.pairwise(marks))
    assert all(path[0] == "root" for _, path in marks)


@pytest.mark.parametrize(
    ("request_text", "root"),
    [
        ("Please fix the login page, users cannot sign in", "fix login page"),
        ("请修复登录页面的错误", "fix login page"),
        ("Bitte repariere die Anmeldung im Warenkorb", "fix login cart"),
        (
            "Kannst du bitte die Datenbank sichern und die Rechnung prüfen?",
            "store database invoice",
        ),
        ("帮我预订去北京的机票", "book flight"),
        ("Write a Python script that converts CSV files to JSON", "create script csv"),
    ],
)
def test_roots_from_requests_in_several_languages(request_text: str, root: str) -> None:
    """The goal is named from the request; Chinese and German fold with English."""
    lane = Lane(request=features(Kind.AGENT, prompt=request_text), steps=[Step()])
    assert load_segmenter(SegmentConfig()).segment(lane)[0].path[0] == root
