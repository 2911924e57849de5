"""Log records that stand for an operation, as `Span`s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.decode import decode_logs
from whyflame.dialects.identity import SPAN_BYTES, TRACE_BYTES, read_times, stable_id
from whyflame.dialects.message_events import MessageEvents
from whyflame.dialects.reading import Reading
from whyflame.dialects.values import read_number, read_text
from whyflame.model import Kind, Span

if TYPE_CHECKING:
    from whyflame.dialects.interpreter import Interpreter
    from whyflame.dialects.resource import Origin

__all__ = ["read_log_events"]

_NAME_KEYS = ("event.name", "event_name")
_DURATION_KEYS = ("duration_ms", "event.duration_ms")
_LONGEST_MS = 30 * 86_400_000
_NS_PER_MS = 1_000_000


def read_log_events(
    interpreter: Interpreter, payload: bytes, *, tenant: str, received_ns: int
) -> list[Span]:
    """Spans for the records of an `ExportLogsServiceRequest` that stand for an operation, or for its text.

    Raises:
        PermanentError: The bytes are not this message.
    """
    spans: list[Span] = []
    for resource in decode_logs(payload).resources:
        origin = interpreter.origin(resource.resource.attributes)
        for group in resource.scopes:
            scope = (group.scope.name, group.scope.version)
            messages = MessageEvents(scope, origin)
            for record in group.records:
                event = _event_name(record)
                if not interpreter.registry.is_event(event):
                    if interpreter.settings.read_content:
                        messages.take(event, record)
                    continue
                span = _read_record(interpreter, event, record, scope, origin)
                if span is not None:
                    spans.append(span)
            spans += messages.spans()
    for span in spans:
        span.tenant, span.received_ns = tenant, received_ns
    return spans


def _event_name(record: Any) -> str:
    """The attribute first: some producers fill the field with a source position."""
    for key in _NAME_KEYS:
        raw = record.attributes.get(key)
        if raw is not None:
            name = read_text(raw)
            if name:
                return name
    return str(record.event_name)


def _read_record(
    interpreter: Interpreter, event: str, record: Any, scope: tuple[str, str], origin: Origin
) -> Span | None:
    count = len(record.attributes)
    is_too_many = count > interpreter.settings.max_attributes
    raw = interpreter.bounded(record.attributes) if is_too_many else record.attributes
    attributes = dict(raw.items())
    reading = Reading(event, scope, attributes, origin.attributes)
    reading.body = record.body
    found = interpreter.registry.find_event(scope[0], event, frozenset(attributes))
    if found is None:
        return None
    start, end, dubious = _times(record, reading)
    span = Span(
        "", "log", b"", b"", None, start, end, event, Kind.OTHER, found.name,
        scope[0], scope[1], origin.service, origin.service_version, origin.environment,
        origin.instance, origin.host,
    )  # fmt: skip
    span.dubious, span.attributes_count = dubious, count
    if is_too_many:
        span.dubious += ("too_many_attributes",)
    interpreter.interpret_event(span, reading, origin, found)
    if span.kind is Kind.OTHER and span.outcome is None:
        return None
    _identify(span, record, origin)
    return span


def _times(record: Any, reading: Reading) -> tuple[int | None, int | None, tuple[str, ...]]:
    """Events are written when the operation ends; its length is an attribute."""
    end = record.time or record.observed
    duration = 0.0
    for key in _DURATION_KEYS:
        number = read_number(reading.value(key))
        if not isinstance(number, str) and 0 <= number <= _LONGEST_MS:
            duration = number
            break
    return read_times(max(0, end - int(duration * _NS_PER_MS)), end)


def _identify(span: Span, record: Any, origin: Origin) -> None:
    """Ids of what the event belongs to, else made from session and content."""
    session = (
        span.session or span.conversation or origin.session or origin.instance or ""
    ).encode()
    if len(record.trace_id) == TRACE_BYTES and any(record.trace_id):
        span.trace_id = record.trace_id
    else:
        span.trace_id = stable_id(TRACE_BYTES, b"log", origin.service.encode(), session)
    if len(record.span_id) == SPAN_BYTES and any(record.span_id):
        span.parent_id = record.span_id
    content = record.SerializeToString(deterministic=True)
    span.span_id = stable_id(SPAN_BYTES, span.name.encode(), session, content)
