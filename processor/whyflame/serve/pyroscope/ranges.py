"""Bounds of what may be asked: time ranges, nodes, ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.serve.pyroscope.connect import ConnectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.config import QueryConfig

__all__ = ["TimeRange", "check_ids", "check_max_nodes", "check_range", "traces_of"]

MILLISECOND = 1_000_000
MAX_NODES = 1 << 20
_MAX_TIME_MS = (1 << 63) // MILLISECOND - 1
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TEMPLATE = re.compile(r"\$\{|\{\{|^\$")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Milliseconds, both ends included."""

    start_ms: int
    end_ms: int

    @property
    def since_ns(self) -> int:
        """First end time included."""
        return self.start_ms * MILLISECOND

    @property
    def until_ns(self) -> int:
        """First end time excluded."""
        return self.end_ms * MILLISECOND + 1


def check_range(start: int, end: int, settings: QueryConfig, now_ns: int) -> TimeRange | None:
    """The range to look at; None when all of it is older than `query.max_lookback`.

    Raises:
        ConnectError: There is no range, it runs backwards, or is longer than `query.max_length`.
    """
    if not start and not end:
        raise ConnectError(
            "invalid_argument", "missing time range in the query: give start and end"
        )
    check_order(start, end)
    oldest = 0
    if settings.max_lookback:
        oldest = now_ns // MILLISECOND - int(settings.max_lookback * 1000)
        if end < oldest:
            return None
    start = max(start, oldest)
    if settings.max_length and end - start > settings.max_length * 1000:
        raise ConnectError(
            "invalid_argument",
            f"the query time range exceeds the limit (query length: {(end - start) // 1000} s, "
            f"limit: {settings.max_length:.0f} s, query.max_length)",
        )
    return TimeRange(start, end)


def check_order(start: int, end: int) -> None:
    """Refuse a range that runs backwards or lies outside of time.

    Raises:
        ConnectError: It does.
    """
    if start > end:
        raise ConnectError("invalid_argument", f"start {start} is after end {end}")
    if start < 0 or end > _MAX_TIME_MS:
        raise ConnectError("invalid_argument", "start and end are milliseconds since 1970")


def check_max_nodes(wanted: int) -> int | None:
    """The bound on nodes of a flame graph; None for the default.

    Raises:
        ConnectError: Negative, or more than a client could draw.
    """
    if not 0 <= wanted <= MAX_NODES:
        raise ConnectError("invalid_argument", f"max_nodes is 0 to {MAX_NODES}, not {wanted}")
    return wanted or None


def check_ids(ids: Sequence[str], digits: int, what: str) -> list[str]:
    """Ids in lower-case hex.

    Raises:
        ConnectError: One has not that many digits; names the likely reason.
    """
    for text in ids:
        if re.fullmatch(f"[0-9a-f]{{{digits}}}", text):
            continue
        hint = ""
        if _TEMPLATE.search(text):
            hint = (
                ": a template that was not filled in; the span has no attribute "
                "pyroscope.profile.id, or the link names another one"
            )
        raise ConnectError(
            "invalid_argument",
            f"{what} {text[:100]!r} is not {digits} hex digits, lower case{hint}",
        )
    return list(dict.fromkeys(ids))


def traces_of(profiles: Sequence[str]) -> list[str]:
    """Ids of traces from those of profiles.

    Raises:
        ConnectError: One is no UUID.
    """
    for text in profiles:
        if not _UUID.fullmatch(text):
            raise ConnectError(
                "invalid_argument", f"profile_id_selector {text[:100]!r} is no UUID of an exemplar"
            )
    return [text.replace("-", "").lower() for text in profiles]
