"""Sends what a LangChain agent does to whyflame. Copy this file into your own agent."""

from __future__ import annotations

from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def start_tracing(service: str, version: str, environment: str) -> TracerProvider:
    """Instrument LangChain; call this once, before the first agent is built.

    The endpoint is `http://localhost:4317` unless OTEL_EXPORTER_OTLP_ENDPOINT says otherwise.
    """
    resource = Resource.create(
        {
            "service.name": service,
            "service.version": version,
            "deployment.environment.name": environment,
        }
    )
    provider = TracerProvider(
        resource=resource,
        # Each message of a conversation is several attributes. With the usual limit of 128 a long
        # conversation pushes out the oldest ones, and the token counts go with them.
        span_limits=SpanLimits(max_span_attributes=10_000),
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            OTLPSpanExporter(),
            max_queue_size=8192,  # spans; what does not fit is dropped by the SDK
            max_export_batch_size=256,  # keeps requests with long conversations small
            schedule_delay_millis=1000,
        )
    )
    LangChainInstrumentor().instrument(tracer_provider=provider)
    return provider
