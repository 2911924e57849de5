"""Warnings to senders: rejected 0 and a sentence, in the encoding of the request."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from tests import otlp

from whyflame.journal import Encoding, Signal
from whyflame.receive.validate import check
from whyflame.receive.warnings import CLOCK_WRONG, encode_success


@pytest.mark.parametrize("warning", ["", "x", "w" * 100, "w" * 20_000])
def test_answers_are_what_otlp_says(warning: str) -> None:
    """Without a warning `partial_success` is unset; with one nothing is rejected."""
    message = ExportTraceServiceResponse.FromString(encode_success(Encoding.PROTOBUF, warning))
    assert message.HasField("partial_success") is bool(warning)
    assert message.partial_success.error_message == warning
    assert message.partial_success.rejected_spans == 0
    content = json.loads(encode_success(Encoding.JSON, warning))
    assert content == ({"partialSuccess": {"errorMessage": warning}} if warning else {})


@pytest.mark.parametrize(
    ("start_ms", "expected"), [(0, ""), (-1_000_000_000_000, CLOCK_WRONG), (10**12, CLOCK_WRONG)]
)
def test_a_wrong_clock_is_said(start_ms: float, expected: str) -> None:
    """Seconds instead of nanoseconds, or a machine that lives in another century."""
    body = otlp.traces(otlp.Row("s", "chat", start=start_ms, end=start_ms + 1))
    assert check(Signal.TRACES, Encoding.PROTOBUF, body).warning == expected
