"""Senders are told what OTLP says: what may be repeated, when, and what is wrong."""

from __future__ import annotations

import json

import pytest

from whyflame.errors import Backpressure, PermanentError, TransientError
from whyflame.receive.status import Code, answer_for
from whyflame.rpc_status import (
    RpcStatus,
    decode_message,
    decode_retry_seconds,
    encode_json,
    encode_protobuf,
)


@pytest.mark.parametrize(
    ("error", "code", "http_status", "retry_after"),
    [
        (PermanentError("x", "malformed"), Code.INVALID_ARGUMENT, 400, None),
        (PermanentError("x", "too_large"), Code.RESOURCE_EXHAUSTED, 413, None),
        (PermanentError("x", "unauthenticated"), Code.UNAUTHENTICATED, 401, None),
        (PermanentError("x", "media_type"), Code.INVALID_ARGUMENT, 415, None),
        (Backpressure("x", 2.5), Code.UNAVAILABLE, 503, "3"),
        (TransientError("x"), Code.UNAVAILABLE, 503, "1"),
        (RuntimeError("secret"), Code.UNAVAILABLE, 503, "1"),
    ],
)
def test_errors_become_answers(
    error: Exception, code: Code, http_status: int, retry_after: str | None
) -> None:
    """Permanent errors carry no RetryInfo, all others do; 500 is never used."""
    answer = answer_for(error)
    assert (answer.status.code, answer.http_status) == (code, http_status)
    assert answer.retry_after == retry_after
    assert "secret" not in answer.status.message


def test_status_survives_its_encoding() -> None:
    """Message and delay are read back from the bytes."""
    data = encode_protobuf(RpcStatus(14, "wait", retry_seconds=1.5, violation="bad"))
    assert decode_retry_seconds(data) == 1.5
    assert decode_message(data) == "wait"
    assert json.loads(encode_json(RpcStatus(14, "wait", retry_seconds=1.5)))["details"] == [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}
    ]


def test_the_official_messages_read_it() -> None:
    """google.rpc's own classes agree with the hand-written encoding."""
    from google.rpc import error_details_pb2, status_pb2

    data = encode_protobuf(RpcStatus(3, "bad", retry_seconds=2, violation="no"))
    status = status_pb2.Status.FromString(data)
    retry, bad = error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
    assert (status.code, status.message) == (3, "bad")
    assert status.details[0].Unpack(retry)
    assert status.details[1].Unpack(bad)
    assert retry.retry_delay.seconds == 2
    assert bad.field_violations[0].description == "no"


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x1a\x7f", b"\x1a\x02\xff\xff", b"plain text"])
def test_a_damaged_status_is_no_status(data: bytes) -> None:
    """What a peer sends cannot make us fail."""
    assert decode_retry_seconds(data) is None
    assert isinstance(decode_message(data), str)


def test_messages_are_short() -> None:
    """An answer stays far below 4 MiB."""
    assert len(encode_protobuf(RpcStatus(3, "x" * 10_000_000, violation="y" * 10_000_000))) < 8192
