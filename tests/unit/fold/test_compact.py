"""The tree that the page draws."""

from __future__ import annotations

import json
from array import array

from whyflame.fold import compact
from whyflame.fold.palette import fill_names
from whyflame.fold.profile import Profile, SampleType, build_profile

EMPTY = Profile(
    (SampleType("tokens", "count"), SampleType("cost", "nanousd")),
    (), array("q", [0]), array("i"), (array("q"), array("q")), "tokens",
)  # fmt: skip
PROFILE = build_profile(
    [
        (("coder", "fix login", "call gpt"), (), [10, 1 << 60]),
        (("coder", "fix login"), (), [2, 0]),
        (("writer", "call gpt"), (), [30, 7]),
    ],
    like=EMPTY,
)


def test_nodes_are_in_preorder_with_the_widest_child_first() -> None:
    tree = json.loads(compact.encode(PROFILE))
    names = [tree["names"][number] for number in tree["name"]]
    assert names == ["all", "writer", "call gpt", "coder", "fix login", "call gpt"]
    assert tree["depth"] == [0, 1, 2, 1, 2, 3]
    assert tree["totals"][0] == [42, 30, 30, 12, 12, 10]
    assert tree["selfs"] == [0, 0, 30, 0, 2, 10]


def test_what_javascript_would_round_travels_as_text() -> None:
    tree = json.loads(compact.encode(PROFILE))
    assert tree["totals"][1][0] == str((1 << 60) + 7)
    assert tree["totals"][1][1] == 7


def test_every_name_has_a_colour_of_the_palette() -> None:
    tree = json.loads(compact.encode(PROFILE))
    assert len(tree["colours"]) == len(tree["names"])
    assert set(tree["colours"]) <= set(fill_names())
