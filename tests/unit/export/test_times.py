"""Times of payloads and widths of windows."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from whyflame.export.times import SECOND_NS, WindowControl, last_closed, payload_time

GRID = 15 * SECOND_NS


@given(st.sets(st.tuples(st.integers(1, 10**7), st.integers(0, 63)), min_size=2, max_size=30))
def test_no_two_payloads_share_a_time(payloads: set[tuple[int, int]]) -> None:
    window_end = 120_000_000 * GRID
    times = [payload_time(window_end, number, shard) for number, shard in payloads]
    assert len(set(times)) == len(times)
    assert all(window_end - GRID < time < window_end for time in times)


def test_neighbours_differ_by_milliseconds() -> None:
    end = 100 * GRID
    times = [payload_time(end, number) // 1_000_000 for number in range(200)]
    assert len(set(times)) == 200
    assert payload_time(end, 0) == end - 1_000_000


@given(st.integers(0, 10**7), st.integers(0, 63))
@settings(max_examples=10)
def test_thousands_of_payloads_of_a_replica_differ_by_milliseconds(first: int, shard: int) -> None:
    """Pyroscope 1 joins profiles of one series and millisecond, and a window may grow for long."""
    end = 120_000_000 * GRID
    times = {payload_time(end, first + n, shard) // 1_000_000 for n in range(10_000)}
    assert len(times) == 10_000


def test_windows_of_different_width_never_meet() -> None:
    assert payload_time(4 * GRID, 5) != payload_time(3 * GRID, 5)
    assert last_closed(100 * SECOND_NS) == 90 * SECOND_NS


def test_window_grows_under_pressure_and_shrinks_after_calm() -> None:
    control = WindowControl(GRID, 8 * GRID, 2 * SECOND_NS)
    assert control.batch_interval_ns == 2 * SECOND_NS
    control.observe(11)
    assert control.window_ns == GRID
    control.observe(13)
    assert (control.window_ns, control.batch_interval_ns) == (2 * GRID, 10 * SECOND_NS)
    for _ in range(5):
        control.observe(1000)
    assert control.window_ns == 8 * GRID
    for _ in range(4):
        control.observe(0.1)
    assert control.window_ns == 8 * GRID
    control.observe(0.1)
    assert control.window_ns == 4 * GRID
