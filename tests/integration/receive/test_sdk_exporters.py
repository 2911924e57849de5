"""The exporters of opentelemetry-sdk are satisfied, whatever we answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
    OTLPSpanExporter as GrpcExporter,
)
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter as HttpExporter,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


@pytest.fixture
def spans() -> tuple[ReadableSpan, ...]:
    """A model call below an agent, as an instrumented program makes them."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent"), tracer.start_as_current_span("chat") as chat:
        chat.set_attribute("gen_ai.usage.input_tokens", 12)
    provider.shutdown()
    return memory.get_finished_spans()


def make_exporter(kind: str, running: Any, timeout: int = 10) -> Any:
    if kind == "grpc":
        return GrpcExporter(endpoint=running.addresses.grpc, insecure=True, timeout=timeout)
    compression = Compression.Gzip if kind == "http-gzip" else Compression.NoCompression
    return HttpExporter(endpoint=running.url(), compression=compression, timeout=timeout)


@pytest.fixture(params=["grpc", "http", "http-gzip"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which exporter."""
    return str(request.param)


def test_spans_arrive(running: Any, spans: Any, kind: str) -> None:
    """Names and ids are those the program made."""
    exporter = make_exporter(kind, running)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    exporter.shutdown()
    (frame,) = running.frames()
    message = request_class(Signal.TRACES).FromString(frame.payload)
    received = message.resource_spans[0].scope_spans[0].spans
    assert {(span.name, span.span_id.hex()) for span in received} == {
        (span.name, format(span.context.span_id, "016x")) for span in spans
    }


@pytest.mark.slow
def test_a_refusal_for_now_is_repeated_until_it_passes(
    start: Any, spans: Any, make_body: Any, kind: str
) -> None:
    """Back-pressure delays an exporter; it loses nothing."""
    running = start(max_pending_bytes=1000)
    running.export()(make_body(1, "x" * 2000))
    exporter = make_exporter(kind, running, timeout=20)
    pending = running.receiver._intake.pending
    began = time.monotonic()

    def index() -> None:
        pending._max_bytes = 1 << 30

    timer = threading.Timer(0.5, index)
    timer.start()
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    timer.join()
    exporter.shutdown()
    assert time.monotonic() - began > 0.5
    assert len(running.frames()) == 2
