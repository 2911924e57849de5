"""Spans that whyflame itself makes, as OTLP requests: its own model calls, and imported histories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.journal.frame import Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NewSpan", "Value", "spans_request"]

Value = str | int | float | bool | None
"""Of an attribute; None leaves the attribute out."""

_ERROR = 2
_BEYOND = 1 << 63


@dataclass(slots=True)
class NewSpan:
    """One span to send.

    Attributes:
        trace_id: 16 bytes. span_id: 8 bytes. parent_id: 8 bytes, empty for a root.
        name: Span name. start_ns, end_ns: Since the epoch.
        attributes: What is known; values None are left out.
        failed: Its status is ERROR.
        is_client: Span kind CLIENT, else INTERNAL.
        links: (trace id, span id) of what it is linked to.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Value] = field(default_factory=dict)
    failed: bool = False
    is_client: bool = False
    links: tuple[tuple[bytes, bytes], ...] = ()


def spans_request(resource: Mapping[str, Value], scope: str, spans: Iterable[NewSpan]) -> bytes:
    """An `ExportTraceServiceRequest` with one resource and one scope.

    Args:
        resource: Attributes of who did it, `service.name` among them.
        scope: Instrumentation scope name; decides the dialect. spans: In any order.
    """
    request = request_class(Signal.TRACES)()
    into = request.resource_spans.add()
    _set(into.resource, resource)
    group = into.scope_spans.add()
    group.scope.name = scope
    for span in spans:
        made = group.spans.add(
            trace_id=span.trace_id,
            span_id=span.span_id,
            parent_span_id=span.parent_id,
            name=_clean(span.name),
            kind=3 if span.is_client else 1,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
        )
        if span.failed:
            made.status.code = _ERROR
        _set(made, span.attributes)
        for trace_id, span_id in span.links:
            made.links.add(trace_id=trace_id, span_id=span_id)
    return bytes(request.SerializeToString(deterministic=True))


def _clean(text: str) -> str:
    """Text that can be encoded: JSON may hold halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _set(into: Any, attributes: Mapping[str, Value]) -> None:
    for key, value in attributes.items():
        if value is None:
            continue
        slot = into.attributes.add(key=key).value
        match value:
            case bool():
                slot.bool_value = value
            case int() if -_BEYOND <= value < _BEYOND:
                slot.int_value = value
            case int():
                slot.string_value = str(value)
            case float():
                slot.double_value = value
            case _:
                slot.string_value = _clean(value)
