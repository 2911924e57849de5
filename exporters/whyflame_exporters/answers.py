"""What servers say: refusals, limits and waiting times, whatever the transport."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime

from whyflame.errors import PermanentError
from whyflame.export import (
    LateError,
    PausedError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)

__all__ = ["Answer", "answer_error", "limited", "refused"]

_MAX_QUOTED = 300
# A proxy that asks for more must not stop exports for good.
_LONGEST_WAIT_SECONDS = 3600.0
_LATE = re.compile(r"ingestion window|not_in_ingestion_window", re.IGNORECASE)
# One of two clocks is wrong; the profile is taken when the server's has come so far.
_TOO_NEW = re.compile(r"ingestion window ends at")
_TOO_LARGE = re.compile(
    r"max_profile_size_byte|max_profile_stacktrace_samples\b|samples_limit|profile_size_limit|size exceeds limit|payload size|body too large"
    r"|request too large|samples per profile|profile with \d+ samples|too many samples",
    re.IGNORECASE,
)
_QUOTED_LABELS = re.compile(r"'\{.*\}'", re.DOTALL)
_ADDING = re.compile(r"rate limit \(([\d.]+) ?([KMG]?i?B)\).* adding ([\d.]+) ?([KMG]?i?B)")
_RESET = re.compile(r"next reset at (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))")
_UNITS = {"B": 1, "KiB": 1 << 10, "KB": 1000, "MiB": 1 << 20, "MB": 10**6, "GiB": 1 << 30, "GB": 10**9}  # fmt: skip
# A server's burst is half of its rate unless it was configured otherwise.
_BURST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (lower case) and the beginning of the body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def answer_error(answer: Answer) -> Exception | None:
    """What an HTTP answer means, None when the payload was taken."""
    status, text = answer.status, answer.body.decode(errors="replace")
    said = f"HTTP {status}: {text[:_MAX_QUOTED].strip()}"
    if 200 <= status < 300:  # noqa: PLR2004 - success
        return _not_an_api(answer)
    if status == 429 or (status == 422 and "resource_exhausted" in text):  # noqa: PLR2004
        return limited(said, text, _retry_after(answer))
    if status in {401, 403}:
        return PausedError(said, "unauthorized")
    if 300 <= status < 400 or status in {404, 405, 501}:  # noqa: PLR2004 - redirects
        return PausedError(said, "wrong_address")
    if status in {408, 425} or status >= 499:  # noqa: PLR2004 - 499: canceled
        return UnavailableError(said, _retry_after(answer))
    if status == 413:  # noqa: PLR2004
        return TooLargeError(said)
    error = refused(said, text) if status == 400 else None  # noqa: PLR2004
    return error or PermanentError(said, f"refused_{status}")


def _not_an_api(answer: Answer) -> Exception | None:
    """A login page or the front of a web application: it answers 200 to anything, and stores nothing."""
    if not answer.headers.get("content-type", "").lower().startswith("text/html"):
        return None
    said = f"HTTP {answer.status}: a page of HTML, not the answer of an API: is the url right?"
    return PausedError(said, "wrong_address")


def refused(said: str, text: str) -> Exception | None:
    """Refusals with a cure; None for all others. What a label says is not what the server says."""
    text = _QUOTED_LABELS.sub("", text)
    if _TOO_NEW.search(text):
        return UnavailableError(said)
    if _LATE.search(text):
        return LateError(said)
    return TooLargeError(said) if _TOO_LARGE.search(text) else None


def limited(said: str, text: str, retry_after_seconds: float | None) -> Exception:
    """A rate limit: wait, or split what is larger than the server's burst and can never pass."""
    adding = _ADDING.search(text)
    if adding:
        rate = float(adding[1]) * _UNITS[adding[2]]
        size = float(adding[3]) * _UNITS[adding[4]]
        if size > rate * _BURST_SHARE:
            return TooLargeError(said)
    reset = _RESET.search(text)
    resume = None
    if reset:
        resume = int(datetime.fromisoformat(reset[1]).timestamp()) * 1_000_000_000
    return RateLimitedError(said, retry_after_seconds, resume)


def _retry_after(answer: Answer) -> float | None:
    """Seconds of a Retry-After header, as a number or a date; an hour at most."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value), _LONGEST_WAIT_SECONDS)
    date = answer.headers.get("date")
    if not value or not date:
        return None
    try:
        # Against the server's own clock, so that ours need not agree with it.
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    return min(max(0.0, wait.total_seconds()), _LONGEST_WAIT_SECONDS)
