"""Whole micro-USD, exact over time."""

from __future__ import annotations

from hypothesis import given, strategies as st

from whyflame.export.money import CostRounder, spread

COSTS = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.integers(0, 5_000), min_size=1, max_size=6)),
    max_size=40,
)


@given(COSTS, st.integers(1, 7))
def test_nothing_is_lost_over_time(pushes: list[tuple[int, list[int]]], batch_size: int) -> None:
    carries: dict[tuple[str, str], int] = {}
    pushed = true = 0
    for start in range(0, len(pushes), batch_size):
        rounder = CostRounder(carries)
        for series, nano in pushes[start : start + batch_size]:
            pushed += sum(rounder.round(("", str(series)), nano))
            true += sum(nano)
        carries |= rounder.changed
        assert -2000 < true - pushed * 1000 < 2000
    assert true - pushed * 1000 == sum(carries.values())


@given(st.lists(st.lists(st.integers(0, 5_000), min_size=1, max_size=6), max_size=40))
def test_sum_over_new_series_is_the_true_sum_rounded_down(costs: list[list[int]]) -> None:
    rounder = CostRounder({})
    pushed = sum(sum(rounder.round(("", str(number)), nano)) for number, nano in enumerate(costs))
    assert pushed == sum(map(sum, costs)) // 1000


@given(COSTS)
def test_no_series_owes_two_micro_usd(pushes: list[tuple[int, list[int]]]) -> None:
    rounder = CostRounder({})
    for series, nano in pushes:
        shares = rounder.round(("", str(series)), nano)
        assert all(share >= 0 for share in shares)
        assert all(share == 0 for share, value in zip(shares, nano, strict=True) if not value)
    assert all(-1000 < rest < 2000 for rest in rounder.changed.values())


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20))
def test_spread_stays_within_one_of_the_exact_share(nano: list[int]) -> None:
    shares = spread(nano, sum(nano) // 1000)
    assert sum(shares) == sum(nano) // 1000
    assert all(abs(s * 1000 - n) < 1000 for s, n in zip(shares, nano, strict=True))


def test_spread_gives_the_rest_to_the_largest_remainders() -> None:
    assert spread([1_999, 1_001, 1_000], 4) == [2, 1, 1]
    assert spread([1_999, 1_001, 1_000], 2) == [1, 1, 0]
    assert spread([0, 0], 0) == [0, 0]
