"""Folded text, JSON and speedscope, and which format a file name asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.fold_strategies import profile_of, profiles

from whyflame.errors import UsageError
from whyflame.fold import folded, json as json_format, speedscope
from whyflame.fold.encode import ENCODINGS, encode_by_name, format_of

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile


@given(profiles)
def test_folded_widths_add_up(profile: Profile) -> None:
    lines = folded.encode(profile).decode().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == profile.total()
    assert len({line.rsplit(" ", 1)[0] for line in lines}) == len(lines)


def test_folded_keeps_its_separator_and_adds_over_labels() -> None:
    profile = profile_of(
        [
            (("a;b", "c d"), (("model", "x"),), (1, 0, 0, 3)),
            (("a;b", "c d"), (), (1, 0, 0, 4)),
            (("z",), (), (1, 0, 0, 0)),
        ]
    )
    assert folded.encode(profile) == b"a:b;c d 7\n"
    assert folded.encode(profile, "operations") == b"a:b;c d 2\nz 1\n"


@given(profiles)
def test_json_says_everything_exactly(profile: Profile) -> None:
    document = json.loads(json_format.encode(profile))
    assert document["totals"] == profile.totals()
    assert [
        (tuple(row["frames"]), tuple(sorted(row.get("labels", {}).items())), tuple(row["values"]))
        for row in document["stacks"]
    ] == list(profile.stacks())


@given(profiles)
def test_speedscope_weights_add_up(profile: Profile) -> None:
    document = json.loads(speedscope.encode(profile))
    shown = document["profiles"][document["activeProfileIndex"]]
    assert shown["name"] == "tokens (count)"
    assert sum(shown["weights"]) == shown["endValue"] == profile.total()
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    assert [tuple(frames[i] for i in sample) for sample in shown["samples"]] == [
        stack for stack, _, _ in profile.stacks()
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("out/profile.pb.gz", "pprof"),
        ("p.PB", "pprof"),
        ("p.pprof", "pprof"),
        ("p.folded", "folded"),
        ("p.txt", "folded"),
        ("p.speedscope.json", "speedscope"),
        ("p.json", "json"),
        ("p.svg", "svg"),
    ],
)
def test_a_file_name_asks_for_a_format(name: str, expected: str) -> None:
    assert format_of(name) == expected


def test_unknown_formats_are_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"cannot tell a format from 'p\.png'.*\.pb\.gz"):
        format_of("p.png")
    with pytest.raises(UsageError, match="did you mean 'pprof'"):
        encode_by_name(profile_of([]), "prof")


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_every_format_takes_every_profile(name: str) -> None:
    one = profile_of([(("a",), (), (1, 1, 1, 1))])
    assert encode_by_name(profile_of([]), name) != encode_by_name(one, name)
    assert encode_by_name(one, name) == encode_by_name(one, name)
