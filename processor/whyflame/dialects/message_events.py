"""Messages of a model call in log records of their own, which name the span they belong to.

Older conventions write no text on the span: each message of a call is an event (`gen_ai.user.message`,
`gen_ai.choice`, ...) with the span's ids. A call repeats the whole conversation, so the records of a
call in one request become one `Span`, which holds what a span with text would: the newest user message,
the answer, the tool calls asked for. It counts as nothing; settling joins it to its call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from whyflame.dialects.content import set_prompt, set_text
from whyflame.dialects.identity import SPAN_BYTES, TRACE_BYTES, read_times, stable_id
from whyflame.dialects.messages import asked_calls, flatten_text, parse
from whyflame.dialects.values import read_any
from whyflame.model import Content, Kind, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.dialects.resource import Origin

__all__ = ["DETAILS", "MESSAGES", "MessageEvents"]

MESSAGES = "gen_ai.messages"
"""Name of the span that the records of a call become."""
DETAILS = "gen_ai.client.inference.operation.details"
"""Newer conventions write one event for all of them, in the attributes of a span with text."""

# Others hold instructions, or what earlier calls said and got: known already, or of no use.
_USER, _CHOICE = "gen_ai.user.message", "gen_ai.choice"
_DIALECT = "genai"
_Message = tuple[int, bytes]
"""Time and raw body."""


@dataclass(slots=True)
class _Call:
    """The records of one call, those that are read: bytes -> (time, message); repeats collapse."""

    users: dict[bytes, _Message] = field(default_factory=dict)
    choices: dict[bytes, _Message] = field(default_factory=dict)


class MessageEvents:
    """Collects the message events of one scope in one request.

    Args:
        scope: Name and version. origin: What the resource says.
    """

    def __init__(self, scope: tuple[str, str], origin: Origin) -> None:
        self._scope, self._origin = scope, origin
        self._calls: dict[tuple[bytes, bytes], _Call] = {}

    def take(self, event: str, record: Any) -> None:
        """Take in a record if it is a message of a span."""
        if event not in (_USER, _CHOICE):
            return
        ids = (record.trace_id, record.span_id)
        if len(ids[0]) == TRACE_BYTES and len(ids[1]) == SPAN_BYTES and any(ids[0]) and any(ids[1]):
            call = self._calls.setdefault(ids, _Call())
            into = call.users if event == _USER else call.choices
            key = record.SerializeToString(deterministic=True)
            into.setdefault(key, (record.time or record.observed, record.body))

    def spans(self) -> Iterator[Span]:
        """A span for each call of which a text, or a tool call asked for, is known."""
        for (trace_id, span_id), call in self._calls.items():
            content, asked = Content(), _read_choices(call)
            spoken = _fill(content, call)
            if spoken or asked:
                yield self._span(trace_id, span_id, call, content, asked)

    def _span(
        self, trace_id: bytes, call_id: bytes, call: _Call, content: Content, asked: tuple[str, ...]
    ) -> Span:
        origin, read = self._origin, call.users | call.choices
        told = max(at for at, _ in read.values())
        start, end, dubious = read_times(told, told)
        span = Span(
            "", "log", trace_id, stable_id(SPAN_BYTES, MESSAGES.encode(), call_id, *sorted(read)),
            call_id, start, end, MESSAGES, Kind.OTHER, _DIALECT, *self._scope, origin.service,
            origin.service_version, origin.environment, origin.instance, origin.host,
        )  # fmt: skip
        span.content, span.asked, span.dubious = content, asked, dubious
        span.attributes_count = len(read)
        if origin.session is not None:
            span.extra["resource_session"] = origin.session
        return span


def _fill(content: Content, call: _Call) -> bool:
    """The newest user message that says something, and the answer; False without any text."""
    for body in reversed(_in_order(call.users)):
        if text := flatten_text(body):
            set_prompt(content, text, len(call.users))
            break
    said = [flatten_text(_spoken(body)) for body in _in_order(call.choices)]
    if spoken := "\n".join(filter(None, said)):
        set_text(content, "response", spoken)
    return bool(content.prompt or content.response)


def _read_choices(call: _Call) -> tuple[str, ...]:
    """Ids of the tool calls that the answer asks for."""
    ids = [known for body in _in_order(call.choices) for known in asked_calls(body)]
    return tuple(dict.fromkeys(ids))


def _in_order(messages: dict[bytes, _Message]) -> list[Any]:
    """Bodies by time; those of one time as they were sent."""
    return [_read(raw) for _, raw in sorted(messages.values(), key=itemgetter(0))]


def _read(raw: bytes) -> Any:
    """The message; some write it as JSON text."""
    body = read_any(raw) if raw else None
    if isinstance(body, str) and body[:1] in ("{", "["):
        return parse(body)
    return body


def _spoken(body: Any) -> Any:
    return body.get("message", body) if isinstance(body, dict) else body
