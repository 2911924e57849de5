"""Hostile requests: real shapes with absurd values, and real bytes with small damage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.otlp import any_value, key_values

if TYPE_CHECKING:
    from random import Random

SCOPES = (
    "openinference.instrumentation.langchain", "opentelemetry.instrumentation.openai.v1",
    "langfuse-sdk", "gcp.vertex.agent", "pydantic-ai", "com.anthropic.claude_code", "gemini-cli",
    "codex_cli_rs", "ai", "strands-agents", "litellm", "haystack.tracing", "langsmith", "",
)  # fmt: skip
KEYS = (
    "gen_ai.operation.name", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id",
    "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.input.messages",
    "gen_ai.output.messages", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.agent.name",
    "gen_ai.conversation.id", "gen_ai.tool.call.arguments", "gen_ai.prompt.0.content",
    "gen_ai.prompt.0.role", "gen_ai.completion.0.tool_calls.0.id", "gen_ai.system",
    "openinference.span.kind", "llm.token_count.prompt", "llm.token_count.completion",
    "llm.input_messages.0.message.content", "llm.input_messages.0.message.role",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id", "input.value", "output.value",
    "input.mime_type", "llm.model_name", "tool.name", "session.id", "user.id", "metadata",
    "traceloop.span.kind", "traceloop.entity.input", "traceloop.entity.output",
    "traceloop.association.properties.session_id", "langfuse.observation.type",
    "langfuse.observation.usage_details", "langfuse.observation.cost_details",
    "langfuse.observation.input", "langfuse.observation.model.name", "ai.operationId",
    "ai.usage.promptTokens", "ai.prompt.messages", "ai.toolCall.name", "ai.response.text",
    "langsmith.span.kind", "gen_ai.usage.details", "event.name", "cost_usd", "input_tokens",
    "output_tokens", "duration_ms", "model", "tool_name", "gcp.vertex.agent.llm_request",
    "error.type", "llm.usage.total_tokens", "prompt", "arguments", "success",
)  # fmt: skip
WORDS = (
    "chat", "LLM", "TOOL", "AGENT", "tool", "generation", "execute_tool", "invoke_agent", "gpt-5",
    "claude_code.api_request", "gemini_cli.api_response", "ai.generateText.doGenerate", "llm",
    "embeddings", "text_completion", "-1", "NaN", "1e400", "9" * 60, "0x10", "true", "\x00",
)  # fmt: skip

EVENTS = (
    "gen_ai.user.message", "gen_ai.choice", "gen_ai.assistant.message", "gen_ai.system.message",
    "gen_ai.tool.message", "gen_ai.client.inference.operation.details", "gen_ai.evaluation.result",
    "gen_ai.content.prompt", "gen_ai.content.completion", "exception", "claude_code.api_request",
    "claude_code.tool_result", "claude_code.user_prompt", "codex.sse_event", "codex.tool_result",
    "codex.user_prompt", "gemini_cli.api_response", "gemini_cli.api_request", "gemini_cli.tool_call",
    "gemini_cli.user_prompt", "qwen-code.api_response",
)  # fmt: skip

numbers = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from((0, -1, 1 << 62, 10**12, 10**13)),
)
texts = st.one_of(st.sampled_from(WORDS), st.text(max_size=40), st.just("x" * 70_000))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ("role", "content", "parts", "type", "text", "tool_calls", "id", "name", "input",
                 "arguments", "messages", "function", "kwargs", "usage", "output", "total", "todos")
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)  # fmt: skip
deep = st.integers(1, 3000).map(lambda depth: "[" * depth + "]" * depth)
broken_json = st.builds(lambda value, cut: json.dumps(value)[:cut], json_values, st.integers(0, 60))
values = st.one_of(
    numbers, texts, st.booleans(), st.binary(max_size=20), st.none(),
    json_values.map(json.dumps), deep, broken_json,
    st.recursive(texts, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)  # fmt: skip
# A message as conventions have it, with anything in its places; some write it as JSON text.
messages = st.dictionaries(
    st.sampled_from(("role", "content", "message", "tool_calls", "id", "index", "finish_reason")),
    json_values,
    max_size=5,
)
log_bodies = st.one_of(texts, messages, json_values, messages.map(json.dumps), deep, broken_json)
event_names = st.one_of(st.sampled_from(EVENTS), st.sampled_from(WORDS))
attributes = st.dictionaries(
    st.one_of(st.sampled_from(KEYS), st.text(max_size=10)), values, max_size=14
)
times = st.one_of(st.sampled_from((0, 1, 10**18, (1 << 64) - 1)), st.integers(0, (1 << 64) - 1))
ids = st.one_of(st.binary(max_size=20), st.just(b"\x01" * 16), st.just(b"\x01" * 8))
# Mostly as they should be: what belongs to a span is read with it.
trace_ids = st.one_of(st.just(b"\x01" * 16), st.just(b"\x02" * 16), ids)
span_ids = st.one_of(st.just(b"\x01" * 8), st.just(b"\x02" * 8), ids)


@st.composite
def trace_requests(draw: st.DrawFn) -> bytes:
    """A traces request whose parts are hostile, each in its place."""
    request = ExportTraceServiceRequest()
    for _ in range(draw(st.integers(0, 2))):
        group = request.resource_spans.add()
        group.resource.attributes.extend(key_values(_sendable(draw(attributes))))
        scope = group.scope_spans.add()
        scope.scope.name = draw(st.sampled_from(SCOPES))
        for _ in range(draw(st.integers(0, 3))):
            span = scope.spans.add(
                trace_id=draw(trace_ids), span_id=draw(span_ids), parent_span_id=draw(span_ids),
                start_time_unix_nano=draw(times), end_time_unix_nano=draw(times),
            )  # fmt: skip
            span.name = _text(draw(texts))
            span.attributes.extend(key_values(_sendable(draw(attributes))))
            for _ in range(draw(st.integers(0, 2))):
                event = span.events.add(name=_text(draw(event_names)))
                event.attributes.extend(key_values(_sendable(draw(attributes))))
            span.links.add(trace_id=draw(ids), span_id=draw(ids))
            span.status.message = _text(draw(texts))
            span.status.code = draw(st.sampled_from((0, 1, 2)))  # type: ignore[assignment]
    return request.SerializeToString()


@st.composite
def log_requests(draw: st.DrawFn) -> bytes:
    """A logs request of the same kind."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.scope.name = draw(st.sampled_from(SCOPES))
    for _ in range(draw(st.integers(0, 3))):
        record = scope.log_records.add(
            time_unix_nano=draw(times), trace_id=draw(trace_ids), span_id=draw(span_ids)
        )
        record.body.CopyFrom(any_value(_sendable_value(draw(log_bodies))))
        record.event_name = draw(event_names)
        record.attributes.extend(key_values(_sendable(draw(attributes))))
    return request.SerializeToString()


def damage(body: bytes, chance: Random) -> bytes:
    """The same bytes with a few changed, cut out, doubled or put in."""
    damaged = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(damaged) + 1)
        match chance.randrange(5):
            case 0 if at < len(damaged):
                damaged[at] ^= 1 << chance.randrange(8)
            case 1:
                del damaged[at : at + chance.randint(1, 40)]
            case 2:
                damaged[at:at] = damaged[at : at + chance.randint(1, 200)]
            case 3:
                damaged[at:at] = chance.randbytes(chance.randint(1, 12))
            case _:
                damaged[at : at + 1] = chance.choice((b"\xff" * 9 + b"\x01", b"\x7f", b"\x00"))
    return bytes(damaged)


def _sendable(wanted: dict[str, Any]) -> dict[str, Any]:
    """Without what protobuf itself refuses to hold: half surrogate pairs, integers too wide."""
    return {_text(key): _sendable_value(value) for key, value in wanted.items()}


def _sendable_value(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-(1 << 63), min((1 << 63) - 1, value))
    if isinstance(value, list):
        return [_sendable_value(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _sendable_value(item) for key, item in value.items()}
    return value


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def otlp_json() -> st.SearchStrategy[Any]:
    """OTLP/JSON with anything in any place."""
    wild = st.one_of(json_values, st.integers(), st.text(max_size=20))
    field = st.sampled_from(
        ("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "status",
         "endTimeUnixNano", "attributes", "events", "links", "flags", "droppedAttributesCount")
    )  # fmt: skip
    span = st.dictionaries(field, wild, max_size=8)
    usual = st.fixed_dictionaries(
        {"traceId": st.just("01" * 16), "spanId": st.just("02" * 8)},
        optional={
            "attributes": st.lists(
                st.fixed_dictionaries(
                    {"key": st.sampled_from(("gen_ai.operation.name", "session.id"))},
                    optional={"value": st.one_of(wild, st.dictionaries(
                        st.sampled_from(("stringValue", "intValue", "arrayValue", "doubleValue")),
                        wild, max_size=2))},
                ),
                max_size=3,
            ),
            "startTimeUnixNano": wild,
        },
    )  # fmt: skip
    spans = st.lists(st.one_of(span, usual), max_size=3)
    return st.one_of(
        wild,
        spans.map(lambda found: {"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}),
    )


heads = st.lists(
    st.sampled_from(
        (b"Content-Type: application/x-protobuf", b"Content-Type: application/json",
         b"Content-Type: \xff", b"Content-Encoding: gzip", b"Content-Encoding: deflate",
         b"Content-Encoding: zstd", b"Content-Length: 5", b"Content-Length: -1",
         b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
         b"Authorization: Bearer \xc3\x28", b"X: " + b"y" * 9000, b"Host: a", b"Host: localhost", b"Connection: close")
    ),
    max_size=5,
)  # fmt: skip
lines = st.sampled_from(
    (b"POST /v1/traces HTTP/1.1", b"POST /v1/logs HTTP/1.1", b"GET /v1/traces HTTP/1.1",
     b"POST /v1/%2e%2e/x HTTP/1.1", b"POST /v1/traces HTTP/9.9", b"PRI * HTTP/2.0", b"\x16\x03\x01")
)  # fmt: skip
http_bodies = st.one_of(
    trace_requests(), st.binary(max_size=200), json_values.map(lambda v: json.dumps(v).encode()),
    st.just(b"\x1f\x8b\x08\x00" + bytes(50)), st.just(b"5\r\nhello\r\n0\r\n\r\n"), st.builds(bytes, st.just(1 << 17)),
)  # fmt: skip
