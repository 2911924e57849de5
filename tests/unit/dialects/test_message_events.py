"""Messages in log records of their own become one span a call, which holds what a span with text would."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from tests.otlp import MS, T0, any_value, key_values

from whyflame.dialects import read_logs
from whyflame.dialects.message_events import MESSAGES
from whyflame.model import Kind, Span

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
SYSTEM = ("gen_ai.system.message", {"content": "Be careful."})
USER = ("gen_ai.user.message", {"content": "Fix the login."})
AGAIN = ("gen_ai.user.message", {"content": "And the logout."})
ANSWER = ("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "I fix it."}})
ASKS = ("gen_ai.choice", {"index": 0, "message": {"tool_calls": [CALL]}})
RESULT = ("gen_ai.tool.message", {"id": "call_0", "content": "ok"})


def request(*messages: tuple[str, Any], span: int = 7, trace: int = 1, by: str = "field") -> bytes:
    """Records in order, a millisecond apart; the event's name in the field or as attribute."""
    made = ExportLogsServiceRequest()
    into = made.resource_logs.add()
    into.resource.attributes.extend(key_values({"service.name": "app"}))
    group = into.scope_logs.add()
    group.scope.name = "opentelemetry.instrumentation.openai_v2"
    for number, (name, body) in enumerate(messages):
        record = group.log_records.add(
            observed_time_unix_nano=T0 + number * MS,
            event_name=name if by == "field" else "",
            body=any_value(body),
            trace_id=trace.to_bytes(16, "big") if trace else b"",
            span_id=span.to_bytes(8, "big") if span else b"",
        )
        if by == "attribute":
            record.attributes.extend(key_values({"event.name": name}))
    return made.SerializeToString()


def read(*messages: tuple[str, Any], **options: Any) -> list[Span]:
    return read_logs(request(*messages, **options), tenant="t", received_ns=5)


@pytest.mark.parametrize("by", ["field", "attribute"])
def test_the_records_of_a_call_become_one_span_that_names_it(by: str) -> None:
    (span,) = read(SYSTEM, USER, ASKS, RESULT, AGAIN, ANSWER, by=by)
    assert (span.name, span.signal, span.kind, span.dialect) == (
        MESSAGES,
        "log",
        Kind.OTHER,
        "genai",
    )
    assert (span.trace_id, span.parent_id) == ((1).to_bytes(16, "big"), (7).to_bytes(8, "big"))
    assert (span.tenant, span.received_ns, span.service) == ("t", 5, "app")
    assert span.start_ns == span.end_ns == T0 + 5 * MS
    assert span.asked == ("call_1",)
    assert span.content is not None
    assert (span.content.prompt, span.content.response) == ("And the logout.", "I fix it.")
    assert (span.content.user_messages, span.content.response_bytes) == (2, 9)


def test_each_call_has_its_own() -> None:
    both = request(USER, ANSWER) + request(AGAIN, span=8)
    spans = read_logs(both, tenant="", received_ns=1)
    assert [span.parent_id[-1] for span in spans if span.parent_id] == [7, 8]
    assert len({span.span_id for span in spans}) == 2


def test_a_repeat_has_the_same_id_and_repeats_within_a_request_count_once() -> None:
    (first,), (again,) = read(USER, ANSWER), read(USER, ANSWER)
    assert first == again
    doubled = ExportLogsServiceRequest.FromString(request(USER, ANSWER))
    records = doubled.resource_logs[0].scope_logs[0].log_records
    records.extend(list(records))
    (merged,) = read_logs(doubled.SerializeToString(), tenant="t", received_ns=5)
    assert merged == first


@pytest.mark.parametrize(
    "body",
    [
        {"content": [{"type": "text", "text": "Fix the login."}]},
        '{"content": "Fix the login."}',
        "Fix the login.",
    ],
)
def test_texts_may_be_parts_or_json_or_plain(body: Any) -> None:
    (span,) = read(("gen_ai.user.message", body))
    assert span.content is not None
    assert span.content.prompt == "Fix the login."


def test_without_text_there_is_nothing_to_join() -> None:
    """Instrumentations with content off send the events all the same."""
    bare = (
        "gen_ai.choice",
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}},
    )
    assert read(("gen_ai.user.message", {}), ("gen_ai.user.message", None), bare, SYSTEM) == []
    (asks,) = read(("gen_ai.user.message", {}), ASKS)
    assert asks.asked == ("call_1",)
    assert asks.content is not None
    assert asks.content.user_messages is None


def test_a_message_of_no_span_is_passed_over() -> None:
    assert read(USER, ANSWER, span=0) == read(USER, ANSWER, trace=0) == []
