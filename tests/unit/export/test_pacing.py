"""Token bucket, back-off, learned horizon."""

from __future__ import annotations

from random import Random

from hypothesis import given, strategies as st

from whyflame.export.pacing import Backoff, LateHorizon, TokenBucket

SECOND = 1_000_000_000


@given(st.lists(st.integers(1, 150), min_size=1, max_size=60))
def test_never_more_than_burst_and_rate_allow(sizes: list[int]) -> None:
    bucket, now, passed = TokenBucket(rate=100, burst=200), 0, 0
    for size in sizes:
        while wait := bucket.take(size, now):
            now += wait
        passed += size
        assert passed <= 200 + 100 * now / SECOND + 1


def test_larger_than_the_burst_passes_when_full_and_is_paid_back() -> None:
    bucket = TokenBucket(rate=100, burst=200)
    assert bucket.take(400, 0) == 0
    assert bucket.take(1, 0) > 2 * SECOND - 1


def test_waits_double_up_to_the_longest_with_jitter() -> None:
    backoff = Backoff(Random(3), first_seconds=1, longest_seconds=60)
    for attempt, full in ((1, 1), (2, 2), (3, 4), (7, 60), (10_000, 60)):
        for _ in range(20):
            assert full * SECOND / 2 <= backoff.wait_ns(attempt) <= full * SECOND


def test_what_was_refused_as_late_is_not_sent_again_for_a_while() -> None:
    horizon = LateHorizon()
    now = 10_000 * SECOND
    assert not horizon.refuses(0, now)
    horizon.learn(now - 3600 * SECOND, now)
    assert horizon.refuses(now - 3600 * SECOND, now)
    assert horizon.refuses(now - 4000 * SECOND, now)
    assert not horizon.refuses(now - 3599 * SECOND, now)
    assert not horizon.refuses(0, now + 601 * SECOND)


def test_a_profile_from_the_future_teaches_nothing() -> None:
    horizon = LateHorizon()
    horizon.learn(2000 * SECOND, 1000 * SECOND)
    assert not horizon.refuses(0, 1000 * SECOND)
