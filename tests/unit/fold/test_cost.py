"""Money in files: rounded stack by stack, exact in sum."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st
from tests.fold_strategies import profile_of, profiles

from whyflame.fold.cost import in_micro_usd
from whyflame.fold.numeric import share_out
from whyflame.fold.vectors import share_out_array

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

amounts = st.lists(st.integers(-(1 << 45), 1 << 45), min_size=1, max_size=40)


@given(amounts)
def test_shares_add_up_and_none_is_off_by_one_unit(values: list[int]) -> None:
    shares = share_out(values, 1000)
    assert sum(shares) == (sum(values) + 500) // 1000
    assert all(
        abs(share * 1000 - value) < 1000 for share, value in zip(shares, values, strict=True)
    )


@given(amounts)
def test_vectorised_shares_are_the_same(values: list[int]) -> None:
    assert list(share_out_array(array("q", values), 1000, None)) == share_out(values, 1000)


def test_those_that_lost_most_get_the_rest() -> None:
    assert share_out([1_900, 1_100, 1_500], 1000) == [2, 1, 2]
    assert share_out([500, 500, 500], 1000) == [1, 1, 0]


@given(profiles)
def test_only_the_cost_changes(profile: Profile) -> None:
    rounded, rest = in_micro_usd(profile)
    assert rest == 0
    assert rounded.unit("cost") == "microusd"
    assert rounded.total("cost") == (profile.total("cost") + 500) // 1000
    assert rounded.column("tokens") == profile.column("tokens")


@given(st.lists(profiles, max_size=4))
def test_what_is_carried_from_profile_to_profile_loses_nothing(series: list[Profile]) -> None:
    carried, written = 0, 0
    for profile in series:
        rounded, carried = in_micro_usd(profile, carried)
        written += rounded.total("cost")
        assert 0 <= carried < 1000
    assert written * 1000 + carried == sum(profile.total("cost") for profile in series)


def test_a_profile_without_money_stays_as_it_is() -> None:
    profile = profile_of([(("a",), (), (1, 0, 0, 1))])
    once, _ = in_micro_usd(profile)
    assert in_micro_usd(once, 7) == (once, 7)
