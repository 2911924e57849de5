"""Small OTLP requests, written as tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

T0 = 1_790_000_000_000_000_000
MS = 1_000_000


@dataclass(slots=True)
class Row:
    """One span: ids are small numbers, times milliseconds after T0."""

    scope: str
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    trace: int = 1
    id: int = 1
    parent: int = 0
    start: float = 0
    end: float = 100
    kind: int = 1
    status: int = 0
    service: str = "app"
    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    links: tuple[tuple[int, int], ...] = ()


def any_value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, (list, tuple)):
        return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
    if isinstance(value, dict):
        return AnyValue(kvlist_value=KeyValueList(values=key_values(value)))
    return AnyValue() if value is None else AnyValue(string_value=value)


def key_values(attributes: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def traces(*rows: Row, **resource: Any) -> bytes:
    """An `ExportTraceServiceRequest` with these spans."""
    request = ExportTraceServiceRequest()
    for row in rows:
        into = request.resource_spans.add()
        into.resource.attributes.extend(key_values({"service.name": row.service, **resource}))
        group = into.scope_spans.add()
        group.scope.name = row.scope
        span = group.spans.add(
            trace_id=row.trace.to_bytes(16, "big"),
            span_id=row.id.to_bytes(8, "big"),
            parent_span_id=row.parent.to_bytes(8, "big") if row.parent else b"",
            name=row.name,
            kind=row.kind,  # type: ignore[arg-type]
            start_time_unix_nano=T0 + int(row.start * MS),
            end_time_unix_nano=T0 + int(row.end * MS),
        )
        span.status.code = row.status  # type: ignore[assignment]
        span.attributes.extend(key_values(row.attributes))
        for name, attributes in row.events:
            span.events.add(name=name).attributes.extend(key_values(attributes))
        for trace, other in row.links:
            span.links.add(trace_id=trace.to_bytes(16, "big"), span_id=other.to_bytes(8, "big"))
    return request.SerializeToString()


def logs(scope: str, *records: dict[str, Any], time_ms: float = 100, span: int = 0) -> bytes:
    """An `ExportLogsServiceRequest` whose records have these attributes."""
    request = ExportLogsServiceRequest()
    into = request.resource_logs.add()
    into.resource.attributes.extend(key_values({"service.name": "app"}))
    group = into.scope_logs.add()
    group.scope.name = scope
    for attributes in records:
        record = group.log_records.add(time_unix_nano=T0 + int(time_ms * MS))
        record.attributes.extend(key_values(attributes))
        if span:
            record.trace_id = (1).to_bytes(16, "big")
            record.span_id = span.to_bytes(8, "big")
    return request.SerializeToString()
