"""What every answer of a server means: the retry table."""

from __future__ import annotations

import pytest

from whyflame.errors import PermanentError
from whyflame.export import (
    LateError,
    PausedError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame_exporters.answers import Answer, answer_error

# As Pyroscope words both ends of its window.
OLD = "profile with labels '{}' is outside of ingestion window (profile timestamp: 2026-11-30 10:00:00 +0000 UTC, the ingestion window starts at 2026-11-30 11:00:00 +0000 UTC)"  # fmt: skip
NEW = "profile with labels '{}' is outside of ingestion window (profile timestamp: 2026-11-30 13:00:00 +0000 UTC, the ingestion window ends at 2026-11-30 12:10:00 +0000 UTC)"  # fmt: skip
LATE = '{"code":"invalid_argument","message":"profile is outside of ingestion window"}'
# As Pyroscope words its limits; the last of them is none that halves could pass.
SAMPLES = "the profile with labels '{}' exceeds the samples count limit (max_profile_stacktrace_samples, actual: 9, limit: 8)"  # fmt: skip
SIZE = "the profile with labels '{}' exceeds the size limit (max_profile_size_byte, actual: 9, limit: 8)"  # fmt: skip
NAMED = """profile with labels '{agent="fix ingestion window, too many samples"}' has label name too long: 'x'"""  # fmt: skip
LABELS = "the profile with labels '{}' exceeds the sample labels limit (max_profile_stacktrace_sample_labels, actual: 9, limit: 8)"  # fmt: skip
BURST = "push rate limit (4.0 MiB) exceeded while adding 2.5 MiB"
RATE = "push rate limit (4.0 MiB) exceeded while adding 900.0 KiB"


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (200, "{}", None),
        (400, LATE, LateError),
        (400, "not_in_ingestion_window", LateError),
        (400, OLD, LateError),
        (400, NEW, UnavailableError),
        (400, SAMPLES, TooLargeError),
        (400, SIZE, TooLargeError),
        (400, LABELS, PermanentError),
        (400, NAMED, PermanentError),
        (400, "samples_limit: the profile has 16001 samples", TooLargeError),
        (400, "uncompressed profile payload size exceeds limit", TooLargeError),
        (413, "", TooLargeError),
        (400, "invalid metric name", PermanentError),
        (415, "", PermanentError),
        (422, "unknown profile type", PermanentError),
        (422, "resource_exhausted: push rate limit", RateLimitedError),
        (401, "", PausedError),
        (403, "", PausedError),
        (404, "", PausedError),
        (405, "", PausedError),
        (303, "", PausedError),
        (307, "", PausedError),
        (501, "", PausedError),
        (408, "", UnavailableError),
        (429, RATE, RateLimitedError),
        (429, "", RateLimitedError),
        (429, BURST, TooLargeError),
        (499, "", UnavailableError),
        (500, "", UnavailableError),
        (502, "<html>", UnavailableError),
        (503, "", UnavailableError),
        (504, "", UnavailableError),
    ],
)
def test_retry_table(status: int, text: str, kind: type[Exception] | None) -> None:
    error = answer_error(Answer(status, {}, text.encode()))
    assert (type(error) if error else None) is kind


def test_retry_after_in_seconds_and_as_a_date() -> None:
    error = answer_error(Answer(503, {"retry-after": "7"}))
    assert isinstance(error, UnavailableError)
    assert error.retry_after_seconds == 7
    headers = {
        "retry-after": "Mon, 30 Nov 2026 06:00:30 GMT",
        "date": "Mon, 30 Nov 2026 06:00:00 GMT",
    }
    error = answer_error(Answer(429, headers))
    assert isinstance(error, RateLimitedError)
    assert error.retry_after_seconds == 30
    endless = answer_error(Answer(503, {"retry-after": "9" * 30}))
    assert isinstance(endless, UnavailableError)
    assert endless.retry_after_seconds == 3600, "longer than that it is asked again all the same"
    assert answer_error(Answer(503, {"retry-after": "soon"})).retry_after_seconds is None  # type: ignore[union-attr]


def test_a_limit_that_is_reset_at_a_moment_pauses_until_then() -> None:
    text = "limit of 1 GiB/day reached, next reset at 2026-12-01T00:00:00Z"
    error = answer_error(Answer(429, {}, text.encode()))
    assert isinstance(error, RateLimitedError)
    assert error.resume_at_ns == 1_796_083_200 * 1_000_000_000


def test_refusals_have_a_bounded_reason() -> None:
    error = answer_error(Answer(400, {}, b"invalid utf8"))
    assert isinstance(error, PermanentError)
    assert error.reason == "refused_400"
