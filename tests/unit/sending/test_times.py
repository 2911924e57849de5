"""All times of all requests move by one amount, and nothing else changes."""

from __future__ import annotations

from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class
from whyflame.sending import newest_time, shift_times

SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND


def traces(start: int, end: int) -> bytes:
    message = request_class(Signal.TRACES)()
    span = message.resource_spans.add().scope_spans.add().spans.add(name="a")
    span.start_time_unix_nano, span.end_time_unix_nano = start, end
    span.events.add(time_unix_nano=start + 1)
    return bytes(message.SerializeToString())


def logs(at: int) -> bytes:
    message = request_class(Signal.LOGS)()
    scope = message.resource_logs.add().scope_logs.add()
    scope.log_records.add(time_unix_nano=at, observed_time_unix_nano=at)
    return bytes(message.SerializeToString())


def test_the_newest_time_becomes_the_target() -> None:
    """Distances within and between requests stay."""
    requests = [("traces", traces(BEGIN, BEGIN + 5)), ("logs", logs(BEGIN + 100 * SECOND))]
    newest = newest_time(requests)
    assert newest == BEGIN + 100 * SECOND
    target = BEGIN + 5000 * SECOND
    shifted = list(shift_times(requests, newest, target))
    assert shifted == [
        ("traces", traces(target - 100 * SECOND, target - 100 * SECOND + 5)),
        ("logs", logs(target)),
    ]


def test_impossible_times_stay_impossible() -> None:
    """Missing and absurd times neither move nor count as the newest."""
    requests = [("traces", traces(0, (1 << 64) - 10)), ("traces", traces(BEGIN, BEGIN))]
    assert newest_time(requests) == BEGIN + 1
    (_, body), _ = shift_times(requests, BEGIN, BEGIN + SECOND)
    message = request_class(Signal.TRACES).FromString(body)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (0, (1 << 64) - 10)


def test_no_times_means_none() -> None:
    """Nothing to shift by."""
    assert newest_time([("metrics", b""), ("traces", b"")]) is None
