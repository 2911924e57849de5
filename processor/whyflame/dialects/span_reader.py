"""Spans of a traces request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.decode import decode_status, decode_traces
from whyflame.dialects.identity import read_identity, read_times
from whyflame.dialects.reading import Reading
from whyflame.dialects.values import read_text
from whyflame.model import Kind, Span, Status

if TYPE_CHECKING:
    from whyflame.dialects.interpreter import Interpreter
    from whyflame.dialects.resource import Origin

__all__ = ["read_spans"]

_STATUS = {0: Status.UNSET, 1: Status.OK, 2: Status.ERROR}
_BARE_STATUS = {b"": Status.UNSET, b"\x18\x01": Status.OK, b"\x18\x02": Status.ERROR}
_ERROR_TEXT_LIMIT = 120


def read_spans(
    interpreter: Interpreter, payload: bytes, *, tenant: str, received_ns: int
) -> list[Span]:
    """Spans of an `ExportTraceServiceRequest`, in order of arrival.

    Raises:
        PermanentError: The bytes are not this message.
    """
    spans: list[Span] = []
    for resource in decode_traces(payload).resources:
        origin = interpreter.origin(resource.resource.attributes)
        for group in resource.scopes:
            scope = (group.scope.name, group.scope.version)
            for message in group.spans:
                span = _read_span(interpreter, message, scope, origin)
                span.tenant, span.received_ns = tenant, received_ns
                spans.append(span)
    return spans


def _read_span(
    interpreter: Interpreter, message: Any, scope: tuple[str, str], origin: Origin
) -> Span:
    attributes = message.attributes
    trace_id, span_id, parent_id, dubious = read_identity(message)
    start, end, wrong_times = read_times(message.start, message.end)
    span = Span(
        "", "span", trace_id, span_id, parent_id, start, end, message.name, Kind.OTHER, "",
        scope[0], scope[1], origin.service, origin.service_version, origin.environment,
        origin.instance, origin.host,
    )  # fmt: skip
    span.attributes_count = len(attributes)
    span.dubious = dubious + wrong_times
    if span.attributes_count > interpreter.settings.max_attributes:
        attributes = interpreter.bounded(attributes)
        span.dubious += ("too_many_attributes",)
    told = b""
    status = _BARE_STATUS.get(message.status)
    if status is None:
        code, told = decode_status(message.status)
        status = _STATUS.get(code, Status.UNSET)
    span.status = status
    if message.links:
        span.links = tuple((link.trace_id, link.span_id) for link in message.links)
    reading = Reading(message.name, scope, attributes, origin.attributes)
    reading.kind = message.kind
    reading.events = message.events
    interpreter.interpret(span, reading, origin)
    if span.status is Status.ERROR:
        _explain_error(span, reading, told)
    return span


def _explain_error(span: Span, reading: Reading, message: bytes) -> None:
    """The error's type: attribute, exception event, else the first word of the message."""
    if span.error_type is not None:
        return
    event = reading.event("exception")
    if event is not None and "exception.type" in event.attributes:
        span.error_type = read_text(event.attributes["exception.type"])
    if span.error_type is None and message:
        head = message[:_ERROR_TEXT_LIMIT].decode("utf-8", "replace").split(":", 1)[0].strip()
        span.error_type = head if head.replace(".", "").replace("_", "").isalnum() else "error"
