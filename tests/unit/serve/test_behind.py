"""What a frame was summed from."""

from __future__ import annotations

from array import array

import pytest

from whyflame.errors import NothingMatched
from whyflame.fold.profile import Labels, Profile, SampleType, Stack, build_profile
from whyflame.serve.behind import what_is_behind
from whyflame.serve.questions import FrameRequest, ProfileRequest

EMPTY = Profile(
    (SampleType("tokens", "count"),), (), array("q", [0]), array("i"), (array("q"),), "tokens"
)
ROWS: list[tuple[Stack, Labels, list[int]]] = [
    (("coder", "fix", "call"), (("run", "0"), ("session", "a")), [5]),
    (("coder", "fix", "run"), (("run", "0"), ("session", "b")), [7]),
    (("coder", "plan", "fix"), (("run", "0"), ("session", "b")), [1]),
    (("writer", "fix"), (("run", "0"), ("session", "c")), [2]),
    (("coder", "fix", "fix"), (("run", "1"), ("session", "a")), [1]),
]
PROFILE = build_profile(ROWS, like=EMPTY)


def ask(*frames: str, anywhere: bool = False, limit: int = 10) -> dict[str, object]:
    return what_is_behind(PROFILE, FrameRequest(ProfileRequest(), frames, anywhere), limit)


def test_only_stacks_below_the_frame_count() -> None:
    found = ask("coder", "fix")
    assert found["total"] == 13
    assert found["rows"] == [
        {"run": "0", "session": "b", "tokens": 7},
        {"run": "0", "session": "a", "tokens": 5},
        {"run": "1", "session": "a", "tokens": 1},
    ]


def test_anywhere_counts_a_stack_once_however_often_the_frame_is_in_it() -> None:
    found = ask("fix", anywhere=True)
    assert found["total"] == PROFILE.total()


def test_what_is_not_shown_is_counted() -> None:
    found = ask("coder", limit=1)
    assert found["not_shown"] == 2
    assert found["total"] == 14


def test_nothing_behind_a_frame_is_an_error_that_names_it() -> None:
    with pytest.raises(NothingMatched, match="coder > sleep"):
        ask("coder", "sleep")
