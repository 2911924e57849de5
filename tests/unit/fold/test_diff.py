"""Differences: exact on both sides, and honest about noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from tests import pprof_reader
from tests.fold_strategies import profile_of, profiles, tokens_of

from whyflame.errors import UsageError
from whyflame.fold.compare import compare, format_table
from whyflame.fold.cost import in_micro_usd
from whyflame.fold.diff import encode_pprof, encode_svg, scale_profile
from whyflame.fold.pair import merge_profiles

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile


@given(profiles, profiles)
def test_the_pprof_difference_holds_both_sides_exactly(base: Profile, target: Profile) -> None:
    found = pprof_reader.read(encode_pprof(base, target))
    before, _ = in_micro_usd(base)
    after, _ = in_micro_usd(target)
    marked = [s for s in found.samples if ("pprof::base", "true") in s.labels]
    rest = [s for s in found.samples if ("pprof::base", "true") not in s.labels]
    for number, name in enumerate(before.totals()):
        assert -sum(sample.values[number] for sample in marked) == before.total(name)
        assert sum(sample.values[number] for sample in rest) == after.total(name)


def test_only_equal_measures_compare() -> None:
    with pytest.raises(UsageError, match="same measures"):
        encode_pprof(tokens_of({"a": 1}), profile_of([]))


@given(profiles, st.integers(1, 50), st.integers(1, 50))
def test_scaling_keeps_totals_in_proportion(profile: Profile, up: int, down: int) -> None:
    scaled = scale_profile(profile, up, down)
    for name, total in profile.totals().items():
        assert scaled.total(name) == (total * up + down // 2) // down


def test_the_svg_names_both_sides() -> None:
    drawn = encode_svg(tokens_of({"a": 1}), tokens_of({"b": 3}), names=("<ok>", "failed"))
    assert b"&lt;ok&gt;: 1 tokens" in drawn
    assert b"larger share in failed" in drawn


def runs(values: dict[str, list[int]], root: str = "task") -> Profile:
    """Runs in which each frame has these values, run by run."""
    rows = [
        (("agent", frame), (("root", root), ("run", str(run)), ("session", "s")), (1, 0, 0, value))
        for frame, series in values.items()
        for run, value in enumerate(series)
    ]
    return profile_of(rows)


def test_means_are_per_run_and_differences_are_sorted() -> None:
    base = runs({"fix": [10, 20, 30], "read": [5, 5, 5]})
    target = runs({"fix": [100, 120], "read": [5, 5]})
    found = compare(base, target)
    rows = {row.frame: row for row in found.rows}
    assert (found.base_units, found.target_units) == (3, 2)
    assert (rows["fix"].base, rows["fix"].target) == (20, 110)
    assert rows["read"].change == 0
    assert found.rows[0].frame in {"agent", "fix"}


def test_a_steady_difference_is_told_from_noise() -> None:
    base = runs({"fix": [100, 102, 98, 101, 99, 100], "wild": [0, 900, 0, 40, 700, 2]})
    target = runs({"fix": [150, 151, 149, 150, 152, 148], "wild": [800, 1, 0, 60, 10, 900]})
    rows = {row.frame: row for row in compare(base, target).rows}
    assert not rows["fix"].may_be_noise
    assert rows["fix"].low is not None
    assert 45 < rows["fix"].low < 50
    assert rows["wild"].may_be_noise
    assert compare(base, target) == compare(base, target)


def test_too_few_runs_give_no_interval() -> None:
    row = compare(runs({"fix": [1, 2]}), runs({"fix": [3, 4]})).rows[0]
    assert row.low is None
    assert row.may_be_noise


def test_pairing_compares_equal_tasks_only() -> None:
    base = merge_profiles([runs({"fix": [10, 10, 10]}, "easy"), runs({"fix": [100]}, "hard")])
    target = merge_profiles(
        [
            runs({"fix": [12]}, "easy"),
            runs({"fix": [100, 100, 100]}, "hard"),
            runs({"fix": [7]}, "new"),
        ]
    )
    plain = compare(base, target)
    paired = compare(base, target, unit=("root", "run"), pair_by="root")
    assert paired.pairs == 2
    assert (paired.base_units, paired.target_units) == (4, 4)
    row = next(row for row in paired.rows if row.frame == "fix")
    # One easy and three hard runs on the target side: the base is weighed the same way.
    assert row.base == pytest.approx((10 + 3 * 100) / 4)
    assert row.target == pytest.approx((12 + 300) / 4)
    assert plain.pairs is None


def test_nothing_to_pair_is_an_error() -> None:
    with pytest.raises(UsageError, match="'root' is on both sides"):
        compare(runs({"a": [1]}, "x"), runs({"a": [1]}, "y"), pair_by="root")


def test_recursion_counts_once() -> None:
    profile = tokens_of({"a;b;a": 5})
    row = compare(profile, profile).rows[0]
    assert (row.frame, row.base) == ("a", 5)


def test_the_table_says_what_may_be_noise() -> None:
    text = format_table(compare(runs({"fix": [1, 2]}), runs({"fix": [3, 4]})))
    assert text.startswith("tokens per run: base 2 runs, target 2\n")
    assert "fix  (may be noise)" in text


@pytest.mark.parametrize(
    ("measure", "unit", "told"),
    [
        ("duration", "nanoseconds", "1.5 s  63.5 s  +62.0 s"),
        ("cost", "nanousd", "$1.5000  $63.5000  +$62.0000"),
        ("tokens", "count", "1,500,000,000  63,500,000,000  +62,000,000,000"),
    ],
)
def test_the_table_tells_money_and_time_in_units_that_people_read(
    measure: str, unit: str, told: str
) -> None:
    compared = compare(runs({"fix": [1_500_000_000]}), runs({"fix": [63_500_000_000]}))
    text = format_table(replace(compared, measure=measure, unit=unit))
    row = next(line for line in text.splitlines() if "fix" in line)
    assert row.lstrip().startswith(told)


def test_the_table_says_how_many_frames_it_does_not_show() -> None:
    many = {f"frame {number}": [number] for number in range(1, 41)}
    compared = compare(runs(many), runs({"fix": [1]}))
    text = format_table(compared, limit=30)
    assert text.splitlines()[-1].startswith(f"smaller changes not shown: {len(compared.rows) - 30}")


def test_profiles_without_labels_are_one_unit() -> None:
    bare = replace(tokens_of({"a": 3}))
    assert compare(bare, bare).base_units == 1
