"""google.rpc.Status to and from bytes and JSON, with the two details OTLP uses.

Written by hand, since the messages are tiny and their package is no dependency of ours.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError

from whyflame.wire import bytes_field, number_field, read_fields, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "RpcStatus",
    "decode_message",
    "decode_retry_seconds",
    "encode_json",
    "encode_protobuf",
]

_TYPE = "type.googleapis.com/google.rpc."
_MAX_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class RpcStatus:
    """What a sender is told.

    Attributes:
        code: Numeric gRPC status code.
        message: For people, English; cut to about a KiB.
        retry_seconds: RetryInfo: the request may be repeated after this long.
        violation: BadRequest: what is wrong with the request.
    """

    code: int
    message: str
    retry_seconds: float | None = None
    violation: str | None = None


def encode_protobuf(status: RpcStatus) -> bytes:
    """google.rpc.Status: code = 1, message = 2, details = 3 (repeated Any)."""
    body = number_field(1, status.code) + text_field(2, status.message[:_MAX_MESSAGE])
    for name, value in _details(status):
        detail = AnyMessage(type_url=_TYPE + name, value=value)
        body += bytes_field(3, detail.SerializeToString())
    return body


def encode_json(status: RpcStatus) -> bytes:
    """The same as proto3 JSON."""
    body: dict[str, Any] = {"code": status.code, "message": status.message[:_MAX_MESSAGE]}
    details: list[dict[str, Any]] = []
    if status.retry_seconds is not None:
        details.append({"@type": _TYPE + "RetryInfo", "retryDelay": f"{status.retry_seconds:g}s"})
    if status.violation is not None:
        violations = [{"field": "body", "description": status.violation[:_MAX_MESSAGE]}]
        details.append({"@type": _TYPE + "BadRequest", "fieldViolations": violations})
    if details:
        body["details"] = details
    return json.dumps(body).encode()


def decode_retry_seconds(data: bytes) -> float | None:
    """The delay of the RetryInfo in an encoded Status; None when there is none or it is damaged."""
    try:
        for value in _values(data, 3):
            detail = AnyMessage.FromString(value)
            if detail.type_url.endswith("google.rpc.RetryInfo"):
                for encoded in _values(detail.value, 1):
                    delay = Duration.FromString(encoded)
                    return float(delay.seconds + delay.nanos / 1e9)
                return 0.0
    except (DecodeError, ValueError):
        return None
    return None


def decode_message(data: bytes) -> str:
    """The message of an encoded Status; empty when there is none or the bytes are no Status."""
    try:
        found = next(_values(data, 2), b"")
    except ValueError:
        return ""
    return found.decode(errors="replace")[:_MAX_MESSAGE]


def _details(status: RpcStatus) -> list[tuple[str, bytes]]:
    details = []
    if status.retry_seconds is not None:
        seconds = math.floor(status.retry_seconds)
        delay = Duration(seconds=seconds, nanos=round((status.retry_seconds - seconds) * 1e9))
        details.append(("RetryInfo", bytes_field(1, delay.SerializeToString())))
    if status.violation is not None:
        violation = text_field(1, "body") + text_field(2, status.violation[:_MAX_MESSAGE])
        details.append(("BadRequest", bytes_field(1, violation)))
    return details


def _values(data: bytes, wanted: int) -> Iterator[bytes]:
    """Values of one field that holds bytes or messages."""
    for number, value in read_fields(data):
        if number == wanted and isinstance(value, bytes):
            yield value
