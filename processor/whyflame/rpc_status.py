"""google.rpc.Status to and from bytes and JSON, with the two details OTLP uses.

Written by hand, since the messages are tiny and their package is no dependency of ours.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration

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
    body = _varint_field(1, status.code) + _bytes_field(2, status.message[:_MAX_MESSAGE].encode())
    for name, value in _details(status):
        detail = AnyMessage(type_url=_TYPE + name, value=value)
        body += _bytes_field(3, detail.SerializeToString())
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
        for value in _fields(data, 3):
            detail = AnyMessage.FromString(value)
            if detail.type_url.endswith("google.rpc.RetryInfo"):
                for encoded in _fields(detail.value, 1):
                    delay = Duration.FromString(encoded)
                    return float(delay.seconds + delay.nanos / 1e9)
                return 0.0
    except Exception:  # noqa: BLE001 - a peer's damaged detail is no detail
        return None
    return None


def decode_message(data: bytes) -> str:
    """The message of an encoded Status; empty when there is none or the bytes are no Status."""
    try:
        found = _fields(data, 2)
    except IndexError:
        return ""
    return found[0].decode(errors="replace")[:_MAX_MESSAGE] if found else ""


def _details(status: RpcStatus) -> list[tuple[str, bytes]]:
    details = []
    if status.retry_seconds is not None:
        seconds = math.floor(status.retry_seconds)
        delay = Duration(seconds=seconds, nanos=round((status.retry_seconds - seconds) * 1e9))
        details.append(("RetryInfo", _bytes_field(1, delay.SerializeToString())))
    if status.violation is not None:
        text = status.violation[:_MAX_MESSAGE].encode()
        violation = _bytes_field(1, b"body") + _bytes_field(2, text)
        details.append(("BadRequest", _bytes_field(1, violation)))
    return details


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte <= 0x7F:  # noqa: PLR2004
            return value, at
        shift += 7


def _fields(data: bytes, wanted: int) -> list[bytes]:
    """Values of one length-delimited field; varint fields are passed over."""
    found, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        size, at = _read_varint(data, at)
        if tag & 7 == 2:  # noqa: PLR2004 - wire type of bytes
            if tag >> 3 == wanted:
                found.append(data[at : at + size])
            at += size
    return found
