"""Is this body the request it claims to be? One look or parse; no walk over attributes in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.journal.otlp_json import request_class, to_protobuf
from whyflame.receive.structure import look_at
from whyflame.receive.warnings import CLOCK_WRONG, believed_times, warning_about

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Checked", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A request that can be journalled.

    Attributes:
        payload: Protobuf, whatever the request's encoding was.
        items: Spans, log records or metrics in it.
        warning: What the sender should know; "" for nothing.
    """

    payload: bytes
    items: int
    warning: str = ""


def check(signal: Signal, encoding: Encoding, body: bytes) -> Checked:
    """Judge a body.

    Raises:
        PermanentError: It is not a request of this signal (`malformed`).
    """
    payload = to_protobuf(signal, body) if encoding is Encoding.JSON else body
    seen = look_at(signal, payload, believed_times())
    if seen is not None:
        items, is_clock_wrong = seen
        return Checked(payload, items, CLOCK_WRONG if is_clock_wrong else "")
    return _parse(signal, payload)


def _parse(signal: Signal, payload: bytes) -> Checked:
    """What a request is, by the protobuf library."""
    try:
        message = request_class(signal).FromString(payload)
    except DecodeError as error:
        raise PermanentError(f"body is not an OTLP {signal.label} request", "malformed") from error
    return Checked(payload, _COUNT[signal](message), warning_about(signal, message))


def _count_spans(message: Any) -> int:
    return sum(len(scope.spans) for group in message.resource_spans for scope in group.scope_spans)


def _count_logs(message: Any) -> int:
    return sum(
        len(scope.log_records) for group in message.resource_logs for scope in group.scope_logs
    )


def _count_metrics(message: Any) -> int:
    return sum(
        len(scope.metrics) for group in message.resource_metrics for scope in group.scope_metrics
    )


_COUNT: dict[Signal, Callable[[Any], int]] = {
    Signal.TRACES: _count_spans,
    Signal.LOGS: _count_logs,
    Signal.METRICS: _count_metrics,
}
