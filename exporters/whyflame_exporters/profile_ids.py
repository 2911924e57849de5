"""Marks the spans from which Grafana opens a flame graph: the first agent spans of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects import read_traces
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.model import Span

__all__ = ["PROFILE_ID", "mark_agent_roots"]

PROFILE_ID = "pyroscope.profile.id"


def mark_agent_roots(body: bytes) -> bytes:
    """The request with the attribute on agent spans that no other agent span of it contains.

    A sub-agent whose parents came in another request is marked too: its link finds no samples.
    Requests without agent spans keep their bytes.
    """
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    roots = _agent_roots(read_traces(body, tenant="", received_ns=0))
    if not roots:
        return body
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                if (span.trace_id, span.span_id) in roots:
                    _mark(span)
    marked: bytes = request.SerializeToString(deterministic=True)
    return marked


def _agent_roots(spans: list[Span]) -> set[tuple[bytes, bytes]]:
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    agents = {key for key, span in by_id.items() if span.kind is Kind.AGENT}
    return {key for key in agents if not _has_agent_above(by_id[key], by_id)}


def _has_agent_above(span: Span, by_id: dict[tuple[bytes, bytes], Span]) -> bool:
    seen = set()
    parent = by_id.get((span.trace_id, span.parent_id or b""))
    while parent is not None and parent.span_id not in seen:
        if parent.kind is Kind.AGENT:
            return True
        seen.add(parent.span_id)
        parent = by_id.get((parent.trace_id, parent.parent_id or b""))
    return False


def _mark(span: Any) -> None:
    """Set the span's own id, unless its producer did."""
    attributes = span.attributes
    if all(attribute.key != PROFILE_ID for attribute in attributes):
        attributes.add(key=PROFILE_ID).value.string_value = span.span_id.hex()
