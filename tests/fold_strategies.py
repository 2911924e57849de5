"""Profiles and query results that hypothesis draws, and small ones written by hand."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from whyflame.fold.fold import empty_profile
from whyflame.fold.profile import Labels, Profile, SampleType, Stack, build_profile
from whyflame.fold.projection import Query, compile_query, make_projection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FOUR_TYPES = (
    SampleType("operations", "count"),
    SampleType("cost", "nanousd"),
    SampleType("duration", "nanoseconds"),
    SampleType("tokens", "count"),
)

names = st.text("ab;<é日", min_size=1, max_size=3)
stacks = st.lists(names, min_size=1, max_size=5).map(tuple)
label_sets = st.dictionaries(st.sampled_from(["agent", "model"]), names, max_size=2).map(
    lambda pairs: tuple(sorted(pairs.items()))
)
counts = st.integers(0, 1 << 40)


def empty(types: Sequence[SampleType] = FOUR_TYPES, default: str = "tokens") -> Profile:
    return Profile(
        sample_types=tuple(types),
        frames=(),
        offsets=array("q", [0]),
        frame_ids=array("i"),
        values=tuple(array("q") for _ in types),
        default=default,
    )


def profile_of(rows: Iterable[tuple[Stack, Labels, Sequence[int]]]) -> Profile:
    return build_profile(rows, like=empty())


def tokens_of(stacks: Mapping[str, int]) -> Profile:
    """A profile of one measure from `root;leaf` texts."""
    like = empty([SampleType("tokens", "count")])
    return build_profile(
        [(tuple(text.split(";")), (), (value,)) for text, value in stacks.items()], like=like
    )


rows = st.lists(
    st.tuples(stacks, label_sets, st.tuples(counts, counts, counts, counts)), max_size=15
)
profiles = rows.map(profile_of)
token_profiles = st.dictionaries(stacks, st.integers(1, 1 << 40), max_size=30).map(
    lambda found: build_profile(
        [(stack, (), (value,)) for stack, value in found.items()],
        like=empty([SampleType("tokens", "count")]),
    )
)


class MemoryDictionary:
    """Dictionary tables as lists."""

    def __init__(self, strings: Sequence[str], paths: Sequence[Sequence[str]]) -> None:
        self._strings = strings
        self._paths = paths

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        return {number: self._strings[number] for number in ids}

    def paths(self, ids: Iterable[int]) -> dict[int, Sequence[str]]:
        return {number: self._paths[number] for number in ids}


QUERY: Query = compile_query(
    make_projection(["agent", "path", "step", "leaf"], labels=["model", "run"])
)
"""Every kind of column that a result can have, but for promoted text."""


def empty_result() -> Profile:
    return empty_profile(QUERY)


@st.composite
def results(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], MemoryDictionary]:
    """Rows as `QUERY` gives them, in any order, with their dictionary."""
    strings = draw(st.lists(names, min_size=1, max_size=6))
    paths = draw(st.lists(st.lists(names, max_size=3), min_size=1, max_size=5))
    string = st.integers(-1, len(strings) - 1)
    row = st.tuples(
        string,
        st.integers(-1, len(paths) - 1),
        st.integers(-1, 3),
        string,
        string,
        st.integers(-1, 2),
        counts,
        counts,
        counts,
        counts,
    )
    return draw(st.lists(row, max_size=30)), MemoryDictionary(strings, paths)
