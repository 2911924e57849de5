"""The real exporters of opentelemetry-sdk against every refusal: they do as OTLP says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
    OTLPSpanExporter as GrpcExporter,
)
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter as HttpExporter,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyflame.journal import Encoding, Signal
from whyflame.receive.status import answer_for

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

pytestmark = pytest.mark.timeout(120)

TIMEOUT = 4
TRANSPORTS = ("grpc", "http")


@pytest.fixture
def spans() -> tuple[ReadableSpan, ...]:
    """One span with a lot of text."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    with provider.get_tracer("test").start_as_current_span("chat") as span:
        span.set_attribute("text", "x" * 5000)
    provider.shutdown()
    return memory.get_finished_spans()


def export(kind: str, running: Any, spans: Any, **options: Any) -> tuple[SpanExportResult, float]:
    """(what the exporter says, seconds it took)."""
    exporter: Any
    if kind == "grpc":
        exporter = GrpcExporter(
            endpoint=running.addresses.grpc, insecure=True, timeout=TIMEOUT, **options
        )
    else:
        exporter = HttpExporter(endpoint=running.url(), timeout=TIMEOUT, **options)
    began = time.monotonic()
    result = exporter.export(spans)
    seconds = time.monotonic() - began
    exporter.shutdown()
    return result, seconds


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_without_a_token_it_gives_up_at_once(
    start: Any, spans: Any, kind: str, tmp_path: Path
) -> None:
    """UNAUTHENTICATED and 401 are final; with the token the same spans pass."""
    (tmp_path / "tokens").write_text("right\n")
    running = start(tokens_file=str(tmp_path / "tokens"))
    result, seconds = export(kind, running, spans)
    assert (result, seconds < 2) == (SpanExportResult.FAILURE, True)
    assert running.frames() == []
    headers = {"authorization": "Bearer right"}
    assert export(kind, running, spans, headers=headers)[0] is SpanExportResult.SUCCESS


def test_too_large_is_final_over_http(start: Any, spans: Any) -> None:
    """413 is not repeated."""
    running = start(max_request_bytes=1000)
    result, seconds = export("http", running, spans)
    assert (result, seconds < 2) == (SpanExportResult.FAILURE, True)
    assert running.frames() == []


def test_too_large_fails_over_grpc(start: Any, spans: Any) -> None:
    """RESOURCE_EXHAUSTED without RetryInfo; this exporter repeats it all the same, then gives up."""
    running = start(max_request_bytes=1000)
    result, seconds = export("grpc", running, spans)
    assert (result, seconds < TIMEOUT + 2) == (SpanExportResult.FAILURE, True)
    assert running.frames() == []


@pytest.mark.parametrize("kind", TRANSPORTS)
@pytest.mark.parametrize("why", ["pending", "inflight", "stopping"])
def test_a_refusal_for_now_is_repeated(start: Any, spans: Any, kind: str, why: str) -> None:
    """UNAVAILABLE and 503 are repeated until there is room, or the time is over; nothing is kept."""
    running = start(max_pending_bytes=1000)
    intake = running.receiver._intake
    if why == "pending":
        intake.accept("test", Signal.TRACES, Encoding.PROTOBUF, b"\x0a\x00" * 600, "")
    elif why == "inflight":
        intake.inflight.take(1 << 40)
    else:
        intake.is_stopping = True
    before = len(running.frames())
    result, seconds = export(kind, running, spans)
    assert result is SpanExportResult.FAILURE
    # It waited and asked again: for as long as its own time-out allowed.
    assert seconds > 0.5
    assert len(running.frames()) == before


def test_every_reason_is_answered_as_the_specification_says() -> None:
    """What may be repeated says so in both protocols; what may not never does."""
    from whyflame.errors import Backpressure, PermanentError, TransientError

    retryable_http = {429, 502, 503, 504}
    retryable_grpc = {1, 4, 10, 11, 14, 15}
    for error in (Backpressure("full"), TransientError("stopping"), OSError("disk"), KeyError()):
        answer = answer_for(error)
        assert answer.status.retry_seconds is not None
        assert answer.http_status in retryable_http
        assert answer.status.code in retryable_grpc
    for reason in (
        "malformed", "too_large", "unauthenticated", "tenant", "media_type", "content_encoding",
        "bad_compression",
    ):  # fmt: skip
        answer = answer_for(PermanentError("no", reason))
        assert answer.status.retry_seconds is None
        assert answer.http_status not in retryable_http
        assert answer.status.code not in retryable_grpc
