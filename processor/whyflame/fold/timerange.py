"""Points in time as users write them: absolute, Unix, or relative to now."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from whyflame.errors import UsageError

__all__ = ["parse_time"]

_SECOND = 1_000_000_000
_UNIT_NS = {
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
    "d": 86_400 * _SECOND,
    "w": 7 * 86_400 * _SECOND,
}
_RELATIVE = re.compile(r"(?:now)?(?:(?<=now)-)?((?:\d{1,9}[smhdw])+)")
_ABSOLUTE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)?([Zz]|[+-]\d\d:\d\d)?"
)
_UNIX = re.compile(r"(\d{1,19})(?:\.(\d{1,9}))?")
# A Unix time is in seconds, milli-, micro- or nanoseconds by how many digits it has.
_UNIX_SCALE = ((11, _SECOND), (14, 1_000_000), (17, 1_000), (19, 1))


def parse_time(text: str, now_ns: int) -> int:
    """Nanoseconds since the epoch of `text`.

    Args:
        text: `2026-11-30T12:00:00Z`, `2026-11-30` (UTC), a Unix time in s, ms, us or ns, `now`,
            `now-1h30m`, or `7d` (that long ago).
        now_ns: The present, so that the caller owns the clock.

    Raises:
        UsageError: None of these forms.
    """
    value = text.strip()
    if value == "now":
        return now_ns
    if found := _RELATIVE.fullmatch(value):
        parts = re.findall(r"(\d+)([smhdw])", found[1])
        return now_ns - sum(int(number) * _UNIT_NS[unit] for number, unit in parts)
    if found := _UNIX.fullmatch(value):
        return _unix_ns(found[1], found[2])
    if found := _ABSOLUTE.fullmatch(value):
        return _absolute_ns(text, found)
    raise _not_a_time(text)


def _unix_ns(digits: str, fraction: str | None) -> int:
    scale = next(scale for limit, scale in _UNIX_SCALE if len(digits) <= limit)
    part = int(fraction.ljust(9, "0")) * scale // _SECOND if fraction else 0
    return int(digits) * scale + part


def _absolute_ns(text: str, found: re.Match[str]) -> int:
    day, clock, fraction, zone = found.groups()
    offset = "+00:00" if zone is None or zone in "Zz" else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{offset}")
    except ValueError as error:
        raise _not_a_time(text) from error
    # Whole seconds by calendar, the fraction by hand: a float would lose nanoseconds.
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    whole = since.days * 86_400 + since.seconds
    return whole * _SECOND + (int(fraction.ljust(9, "0")) if fraction else 0)


def _not_a_time(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a time: use 2026-11-30T12:00:00Z, a Unix time, now-1h or 7d (ago)"
    )
