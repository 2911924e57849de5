"""The laws of folding: additive, exact, nothing lost, one result however it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given, strategies as st
from tests.fold_strategies import (
    QUERY,
    MemoryDictionary,
    empty_result,
    profiles,
    results,
    tokens_of,
)

from whyflame.fold.fold import fold_columns, fold_rows
from whyflame.fold.pair import merge_profiles
from whyflame.fold.projection import compile_query, make_projection

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

Result = tuple[list[tuple[Any, ...]], MemoryDictionary]


def as_columns(rows: list[tuple[Any, ...]]) -> list[Any]:
    columns = zip(*rows, strict=True)
    return [
        np.array(column, dtype=np.int32 if number < 6 else np.int64)
        for number, column in enumerate(columns)
    ]


@given(results())
def test_both_ways_give_the_same_profile(result: Result) -> None:
    rows, dictionary = result
    assert fold_columns(QUERY, as_columns(rows), dictionary) == fold_rows(QUERY, rows, dictionary)


@given(results())
def test_no_width_is_lost(result: Result) -> None:
    rows, dictionary = result
    profile = fold_rows(QUERY, rows, dictionary)
    sums = [sum(row[6 + number] for row in rows) for number in range(4)]
    assert list(profile.totals().values()) == sums


@given(results(), st.integers(0, 30))
def test_folding_is_additive(result: Result, cut: int) -> None:
    rows, dictionary = result
    parts = [fold_rows(QUERY, part, dictionary) for part in (rows[:cut], rows[cut:])]
    whole = fold_rows(QUERY, rows, dictionary)
    assert merge_profiles(parts) == whole


@given(results(), st.randoms())
def test_the_order_of_rows_does_not_matter(result: Result, random: Any) -> None:
    rows, dictionary = result
    shuffled = random.sample(rows, len(rows))
    assert fold_rows(QUERY, shuffled, dictionary) == fold_rows(QUERY, rows, dictionary)


@given(profiles)
def test_stacks_are_sorted_distinct_and_not_empty(profile: Profile) -> None:
    keys = [(stack, labels) for stack, labels, _ in profile.stacks()]
    assert keys == sorted(set(keys))
    assert all(any(values) for _, _, values in profile.stacks())
    assert list(profile.frames) == sorted({frame for stack, _ in keys for frame in stack})


def fold_one(fields: list[str], row: tuple[Any, ...], strings: list[str]) -> list[tuple[str, ...]]:
    query = compile_query(make_projection(fields))
    dictionary = MemoryDictionary(strings, [strings])
    by_rows = fold_rows(query, [row], dictionary)
    columns = [np.array([value], dtype=object if isinstance(value, str) else None) for value in row]
    assert fold_columns(query, columns, dictionary) == by_rows
    return [stack for stack, _, _ in by_rows.stacks()]


VALUES = (1, 2, 3, 4)


def test_unknown_fields_make_no_frame() -> None:
    assert fold_one(["agent", "model", "leaf"], (0, -1, 0, *VALUES), ["a"]) == [("a", "a")]


def test_a_stack_without_any_known_field_keeps_its_width() -> None:
    assert fold_one(["agent", "path"], (-1, -1, *VALUES), ["a"]) == [("unknown",)]


def test_numbers_say_what_they_count() -> None:
    assert fold_one(["turn", "step"], (0, 7, *VALUES), []) == [("turn 0", "step 7")]


def test_reserved_names_are_renamed_by_field() -> None:
    assert fold_one(["agent", "path"], (0, 0, *VALUES), ["other"]) == [
        ("other (agent)", "other (task)")
    ]
    assert fold_one(["leaf"], (0, *VALUES), ["total"]) == [("total (leaf)",)]


def test_a_path_is_a_frame_a_level_and_a_task_its_innermost() -> None:
    strings = ["fix login", "run tests"]
    assert fold_one(["path", "task"], (0, 0, *VALUES), strings) == [
        ("fix login", "run tests", "run tests")
    ]


def test_token_kinds_are_named_as_in_filters() -> None:
    assert fold_one(["agent", "token_kind"], (0, 1, *VALUES), ["a"]) == [("a", "cache_read")]


def test_promoted_text_is_a_frame_and_empty_text_is_none() -> None:
    query = compile_query(make_projection(["team", "agent"], promoted=["team"]))
    rows = [("core", 0, *VALUES), ("", 0, *VALUES)]
    found = fold_rows(query, rows, MemoryDictionary(["a"], []))
    assert [stack for stack, _, _ in found.stacks()] == [("a",), ("core", "a")]


def test_frames_are_one_printable_line_of_bounded_length() -> None:
    nasty = ["a\nb\x00c\ud800", "é" * 5000]
    frames = fold_one(["path"], (0, *VALUES), nasty)[0]
    assert frames[0] == "a b c?"
    assert len(frames[1].encode()) <= 4096
    assert frames[1].endswith("é…")


def test_time_comes_from_the_data() -> None:
    query = compile_query(make_projection(["agent"]))
    dictionary = MemoryDictionary(["a"], [])
    profile = fold_rows(query, [(0, *VALUES)], dictionary, bounds=(100, 350))
    assert (profile.time_ns, profile.duration_ns) == (100, 250)
    assert fold_columns(query, [], dictionary, bounds=(100, None)).duration_ns == 0


def test_an_empty_result_is_an_empty_profile() -> None:
    assert fold_rows(QUERY, [], MemoryDictionary([], [])) == empty_result()
    assert fold_columns(QUERY, [], MemoryDictionary([], [])).is_empty


def test_a_prefix_selects_what_lies_below() -> None:
    profile = tokens_of({"a;b": 1, "a;c": 2, "ab": 4})
    assert profile.below(["a"]).total() == 3
    assert profile.below(["a", "c"]).frames == ("a", "c")
    assert profile.below(["x"]).is_empty


@given(profiles)
def test_many_rows_of_one_stack_stay_exact(profile: Profile) -> None:
    twice = merge_profiles([profile, profile])
    assert twice.totals() == {name: 2 * value for name, value in profile.totals().items()}
    assert len(twice) == len(profile)
