"""What a sender should know although its request was taken: an OTLP partial success without rejects.

Only what costs nothing to see: attributes are not looked at here, and of each scope only the first
span's time, since a wrong clock is wrong for all spans of a process.
"""

from __future__ import annotations

import json
import time
from typing import Any

from whyflame.journal import Encoding, Signal
from whyflame.wire import bytes_field, text_field

__all__ = [
    "CLOCK_WRONG",
    "METRICS_UNUSED",
    "believed_times",
    "encode_success",
    "warning_about",
]

_DAY_NS = 86_400 * 10**9
_EARLIEST_NS = 946_684_800 * 10**9  # 2000-01-01, before which the index stage believes nothing

METRICS_UNUSED = "metrics are accepted and not used; send traces and logs only"
CLOCK_WRONG = (
    "a span begins before the year 2000 or more than a day from now: check the sender's clock and "
    "that times are nanoseconds"
)


def believed_times(now_ns: int | None = None) -> tuple[int, int]:
    """Between which times a span may begin: first and last, in nanoseconds."""
    return _EARLIEST_NS, (time.time_ns() if now_ns is None else now_ns) + _DAY_NS


def warning_about(signal: Signal, message: Any, now_ns: int | None = None) -> str:
    """One English sentence, or "" when there is nothing to say.

    Args:
        signal: Of the request. message: As parsed. now_ns: The time; the clock's when not given.
    """
    if signal is Signal.METRICS:
        return METRICS_UNUSED if message.resource_metrics else ""
    if signal is not Signal.TRACES:
        return ""
    earliest, latest = believed_times(now_ns)
    for group in message.resource_spans:
        for scope in group.scope_spans:
            begins = scope.spans[0].start_time_unix_nano if scope.spans else 0
            if begins and not earliest <= begins <= latest:
                return CLOCK_WRONG
    return ""


def encode_success(encoding: Encoding, warning: str) -> bytes:
    """The body of an Export...ServiceResponse, equal for all signals; unset without a warning."""
    if encoding is Encoding.JSON:
        content = {"partialSuccess": {"errorMessage": warning}} if warning else {}
        return json.dumps(content, separators=(",", ":")).encode()
    if not warning:
        return b""
    return bytes_field(1, text_field(2, warning))  # partial_success = 1: error_message = 2
