"""The bundled recording holds exactly what its manifest says, and nothing about the recorder."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whyflame import demo_data

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

PRIVATE = re.compile(rb"127\.0\.0\.1|localhost|/(?:root|tmp|home|work)/|script-|sk-demo")
TOOL_MARKS = {
    ("openinference.span.kind", "TOOL"),
    ("gen_ai.operation.name", "execute_tool"),
    ("traceloop.span.kind", "tool"),
    ("langfuse.observation.type", "tool"),
}
MODEL_MARKS = {
    ("openinference.span.kind", "LLM"),
    ("gen_ai.operation.name", "chat"),
    ("langfuse.observation.type", "generation"),
}
USAGE_KEYS = (
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
)
Attributes = dict[str, Any]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spans() -> list[tuple[Span, Attributes]]:
    """All spans with those attributes that are not messages of a conversation."""
    return [
        (span, {pair.key: pair.value for pair in span.attributes if "messages" not in pair.key})
        for _, body in demo_data.requests()
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def marks(attributes: Attributes) -> set[tuple[str, str]]:
    return {(key, value.string_value) for key, value in attributes.items()}


def usage(attributes: Attributes) -> tuple[int, int] | None:
    for given, written in USAGE_KEYS:
        if given in attributes:
            return attributes[given].int_value, attributes[written].int_value
    if "langfuse.observation.usage_details" in attributes:
        details = json.loads(attributes["langfuse.observation.usage_details"].string_value)
        return details["prompt_tokens"], details["completion_tokens"]
    return None


def test_what_was_recorded_adds_up_to_the_manifest(spans: list[tuple[Span, Attributes]]) -> None:
    """Calls and tokens read naively from the spans equal what model and tools counted."""
    found: Counter[str] = Counter()
    for _, attributes in spans:
        seen = marks(attributes)
        found["tool_calls"] += bool(seen & TOOL_MARKS)
        if seen & MODEL_MARKS:
            found["llm_calls"] += 1
            figures = usage(attributes)
            found["calls_without_usage"] += figures is None
            found["input_tokens"] += figures[0] if figures else 0
            found["output_tokens"] += figures[1] if figures else 0
    totals = demo_data.manifest()["totals"]
    assert found == {key: totals[key] for key in found}


def test_rewritten_times_keep_the_tree(spans: list[tuple[Span, Attributes]]) -> None:
    """Every parent is there and holds its children; the whole fits into an hour."""
    by_id = {(span.trace_id, span.span_id): span for span, _ in spans}
    for span, _ in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = by_id[span.trace_id, span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    begin = min(span.start_time_unix_nano for span, _ in spans)
    end = max(span.end_time_unix_nano for span, _ in spans)
    assert end - begin < 55 * 60 * 1_000_000_000


def test_requests_come_as_the_manifest_counts_them() -> None:
    """The number and size of requests is known, and each is small enough for a 4 MiB limit."""
    sizes = [len(body) for signal, body in demo_data.requests() if signal == "traces"]
    recording = demo_data.manifest()["recording"]
    assert len(sizes) == recording["requests"]
    assert sum(sizes) == recording["bytes"]
    assert max(sizes) < 4 << 20


def test_the_recorder_left_no_trace() -> None:
    """No path, address or key of the machine that recorded."""
    assert [PRIVATE.findall(body) for _, body in demo_data.requests() if PRIVATE.search(body)] == []


def test_the_file_is_small() -> None:
    """The wheel stays small."""
    packed = resources.files(demo_data).joinpath("fleet.otlp.xz").read_bytes()
    assert len(packed) < 1_500_000
