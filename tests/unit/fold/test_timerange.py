"""Points in time, with the clock given."""

from __future__ import annotations

import pytest

from whyflame.errors import UsageError
from whyflame.fold.timerange import parse_time

NOW = 1_795_000_000_123_456_789
HOUR = 3600 * 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("now-1h", NOW - HOUR),
        ("now-1h30m", NOW - HOUR * 3 // 2),
        ("7d", NOW - 7 * 24 * HOUR),
        ("2w", NOW - 14 * 24 * HOUR),
        ("1970-01-02", 24 * HOUR),
        ("1970-01-01T01:00:00Z", HOUR),
        ("1970-01-01T01:00:00.123456789Z", HOUR + 123_456_789),
        ("1970-01-01T03:00:00+02:00", HOUR),
        ("1970-01-01 01:00", HOUR),
        ("3600", HOUR),
        ("1795000000", 1_795_000_000 * 1_000_000_000),
        ("1795000000.5", 1_795_000_000_500_000_000),
        ("1795000000123", 1_795_000_000_123_000_000),
        ("1795000000123456", 1_795_000_000_123_456_000),
        ("1795000000123456789", NOW),
    ],
)
def test_absolute_unix_and_relative_times(text: str, expected: int) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "now+1h", "1y", "-5", "now-", "h"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="use 2026-11-30T12:00:00Z"):
        parse_time(text, NOW)
