"""Is this body the request it claims to be? One look or parse; no walk over attributes in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from whyflame.errors import PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.journal.otlp_json import request_class, to_protobuf
from whyflame.journal.parts import GROUPS, MAX_PARTS, check_parts, too_many_parts
from whyflame.receive.structure import look_at
from whyflame.receive.warnings import CLOCK_WRONG, believed_times, warning_about

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Checked", "check"]

# Brackets: a whole request of 64 MiB in which every thirtieth byte is one has 2 million.
_MAX_JSON_VALUES = 4_000_000


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
        PermanentError: It is not a request of this signal (`malformed`), or has too many parts
            (`too_large`).
    """
    payload = _from_json(signal, body) if encoding is Encoding.JSON else body
    check_parts(payload, GROUPS)
    checked = _look(signal, payload)
    if checked.items > MAX_PARTS:
        raise too_many_parts()
    return checked


def _from_json(signal: Signal, body: bytes) -> bytes:
    if body.count(b"{") + body.count(b"[") > _MAX_JSON_VALUES:
        raise too_many_parts()
    return to_protobuf(signal, body)


def _look(signal: Signal, payload: bytes) -> Checked:
    """What a request is, by the native part where that is sure."""
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
