"""Agent runs as whole requests, with figures that tell what is lost and what is doubled."""

from __future__ import annotations

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SPANS = 32
CALLS = SPANS - 1


def run_request(trace: int, ballast: int = 0) -> bytes:
    """One agent run as one request: an agent span and its model calls.

    Token counts grow with the trace's number, so that a lost run and a doubled one cannot make up
    for each other.

    Args:
        trace: Its number. ballast: Bytes of text that nobody looks at.
    """
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    scope.scope.name = "chaos"
    for number in range(SPANS):
        span = scope.spans.add(
            trace_id=trace.to_bytes(16, "big"),
            span_id=(number + 1).to_bytes(8, "big"),
            parent_span_id=b"" if number == 0 else (1).to_bytes(8, "big"),
            name="invoke_agent" if number == 0 else "chat m",
            start_time_unix_nano=10**18 + number * 1000,
            end_time_unix_nano=10**18 + number * 1000 + 500,
        )
        operation = "invoke_agent" if number == 0 else "chat"
        span.attributes.add(key="gen_ai.operation.name").value.string_value = operation
        if number:
            span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = trace
            span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 2
            span.attributes.add(key="gen_ai.response.id").value.string_value = f"{trace}-{number}"
    if ballast:
        scope.spans[0].attributes.add(key="ballast").value.string_value = "b" * ballast
    return request.SerializeToString()
