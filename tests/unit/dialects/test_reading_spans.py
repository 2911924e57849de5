"""What a request becomes: identity, times, fields, content; nothing that arrives raises."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.otlp import T0, Row, logs, traces

from whyflame.dialects import dialect_settings, read_logs, read_traces
from whyflame.errors import ConfigError, PermanentError
from whyflame.model import Content, Kind, Span, Status


def read(*rows: Row, **resource: Any) -> list[Span]:
    return read_traces(traces(*rows, **resource), tenant="t", received_ns=5)


def content(span: Span) -> Content:
    assert span.content is not None
    return span.content


def tool(name: str, **attributes: Any) -> Row:
    named = {f"gen_ai.tool.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return Row(
        "x", "tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **named}
    )


@given(st.binary(max_size=300))
def test_garbage_is_refused_in_one_way(noise: bytes) -> None:
    """Bytes that are no request raise PermanentError and nothing else."""
    for read_any in (read_traces, read_logs):
        with suppress(PermanentError):
            read_any(noise, tenant="", received_ns=1)
    with pytest.raises(PermanentError) as refused:
        read_traces(b"\xff" + noise, tenant="", received_ns=1)
    assert refused.value.reason == "undecodable"


KEYS = st.sampled_from(
    [
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "openinference.span.kind",
        "llm.input_messages.0.message.role",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id",
        "llm.token_count.prompt",
        "metadata",
        "langfuse.observation.type",
        "langfuse.observation.usage_details",
        "langsmith.span.kind",
        "langsmith.metadata.usage_metadata",
        "ai.operationId",
        "ai.response.providerMetadata",
        "span.type",
        "haystack.component.output",
        "metadata.usage_object",
        "traceloop.span.kind",
        "session.id",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        ["chat", "LLM", "generation", "llm", "execute_tool", "tool", "{", "[1", "[[]]"]
    ),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=8),
    st.lists(st.text(max_size=3), max_size=3),
    st.recursive(
        st.integers() | st.text(max_size=3) | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["role", "content", "parts", "type", "messages", "usage", "kwargs"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    ).map(json.dumps),
)
SCOPES = st.sampled_from(
    [
        "x",
        "ai",
        "litellm",
        "langsmith",
        "haystack",
        "codex_exec",
        "gcp.vertex.agent",
        "mcp",
        "openinference.instrumentation.langchain",
        "strands.telemetry.tracer",
        "pydantic-ai",
    ]
)


@settings(max_examples=200)
@given(SCOPES, st.dictionaries(KEYS, VALUES, max_size=8), st.sampled_from(["chat", "call_llm", ""]))
def test_odd_values_never_raise(scope: str, attributes: dict[str, Any], name: str) -> None:
    """A span with values of any type is read; its measures are natural numbers or unknown."""
    (span,) = read(Row(scope, name, attributes))
    for part in ("input_uncached", "cache_read", "cache_write", "output_visible", "reasoning"):
        value = getattr(span, part)
        assert value is None or (isinstance(value, int) and value >= 0)


def test_identity_and_times() -> None:
    """Missing ids are made from the content; impossible times are unknown and say why."""
    zero, twin = (Row("x", "a", {"n": 1}, trace=0, id=0) for _ in range(2))
    first, second = read(zero), read(twin)
    assert first[0].dubious == ("id_missing",)
    assert first[0].trace_id == second[0].trace_id != bytes(16)
    assert first[0].span_id == second[0].span_id
    (reversed_,) = read(Row("x", "a", start=10, end=5))
    assert (reversed_.end_ns, reversed_.dubious) == (None, ("time_reversed",))
    (absurd,) = read(Row("x", "a", end=1e12))
    assert (absurd.start_ns, absurd.end_ns, absurd.dubious) == (T0, None, ("time_absurd",))
    (missing,) = read(Row("x", "a", start=-T0 / 1_000_000, end=-T0 / 1_000_000))
    assert (missing.start_ns, missing.dubious) == (None, ("time_missing",))


def test_resource_and_promoted_fields() -> None:
    """Service, environment and instance come from the resource; configured fields go to extra."""
    wanted = dialect_settings({"team": "resource.team.id", "project": "span.project"})
    payload = traces(
        Row("x", "a", {"project": "apollo", "session.id": "s"}),
        **{
            "service.version": "2",
            "deployment.environment": "prod",
            "host.name": "h",
            "process.pid": 7,
            "team.id": "core",
            "session.id": "of the resource",
        },
    )
    (span,) = read_traces(payload, tenant="", received_ns=1, settings=wanted)
    assert (span.service, span.service_version, span.environment) == ("app", "2", "prod")
    assert (span.host, span.instance) == ("h", "h:7")
    assert span.extra == {"team": "core", "project": "apollo"}
    assert span.session == "s"
    with pytest.raises(ConfigError, match=r"fields\.team"):
        dialect_settings({"team": "team"})


def test_newest_real_user_message() -> None:
    """Tool results that come back as user messages are not what the user said."""
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "t"}]},
        {"role": "user", "content": [{"type": "text", "text": "second " + "x" * 500}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}],
        },
    ]
    answer = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "t"}]}]
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(answer),
    }
    (span,) = read(Row("x", "chat", call))
    found = content(span)
    whole = "second " + "x" * 500
    assert found.prompt == whole[:400]
    assert found.prompt_bytes == len(whole)
    assert found.prompt_sha256 == hashlib.sha256(whole.encode()).hexdigest()
    assert found.user_messages == 2
    assert span.asked == ("c2",)
    # Log events, and some spans, carry the same as structured values.
    structured = {"gen_ai.input.messages": messages, "gen_ai.output.messages": answer}
    (again,) = read(Row("x", "chat", {**call, **structured}))
    assert (again.content, again.asked) == (found, span.asked)


def test_structured_arguments_are_read_like_json() -> None:
    given = {"path": "src/a.py", "content": "x = 1"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write"}
    key = "gen_ai.tool.call.arguments"
    (span,) = read(Row("x", "t", {**call, key: given}))
    (json_span,) = read(Row("x", "t", {**call, key: json.dumps(given)}))
    assert content(span) == content(json_span)


def test_long_histories_give_the_same_prompt() -> None:
    """Reading a long history from its end finds what reading all of it finds."""
    history: list[dict[str, Any]] = []
    for turn in range(40):
        history += [
            {"role": "user", "content": f"question {turn}"},
            {"role": "assistant", "content": 'he said {"role":"user"} ' + "y" * 900},
            {"role": "user", "content": [{"type": "tool_result", "content": "z" * 200}]},
        ]
    call = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(history)}
    (span,) = read(Row("x", "chat", call))
    assert content(span).prompt == "question 39"


def test_numbered_messages() -> None:
    """OpenInference spreads messages over keys; number 10 comes after number 9."""
    attributes: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for number in range(12):
        attributes[f"llm.input_messages.{number}.message.role"] = "user"
        attributes[f"llm.input_messages.{number}.message.content"] = f"message {number}"
    attributes["llm.output_messages.0.message.tool_calls.0.tool_call.id"] = "a"
    attributes["llm.output_messages.0.message.tool_calls.1.tool_call.id"] = "b"
    for extra in ({}, {f"filler.{number}": number for number in range(40)}):
        (span,) = read(Row("openinference.instrumentation.openai", "c", {**attributes, **extra}))
        assert content(span).prompt == "message 11"
        assert content(span).user_messages == 12
        assert span.asked == ("a", "b")
        assert span.answered


def test_plans_are_read() -> None:
    """A todo call's items are the agent's own marks, whatever the producer wraps them in."""
    todos = {"todos": [{"content": "fix test", "status": "in_progress"}, {"content": "ship"}]}
    expected = (("fix test", "in_progress"), ("ship", ""))
    (span,) = read(tool("TodoWrite", call__arguments=json.dumps(todos)))
    assert content(span).plan == expected
    (span,) = read(tool("update_plan", call__arguments=json.dumps({"plan": [{"step": "a"}]})))
    assert content(span).plan == (("a", ""),)
    (span,) = read(tool("read_file", call__arguments=json.dumps(todos)))
    assert content(span).plan == ()


def test_hidden_errors() -> None:
    """Errors behind an unset or even an OK status are found."""
    (langfuse,) = read(
        Row(
            "langfuse-sdk",
            "g",
            {"langfuse.observation.type": "generation", "langfuse.observation.level": "ERROR"},
        )
    )
    (langsmith,) = read(
        Row(
            "langsmith",
            "c",
            {"langsmith.span.kind": "llm"},
            status=1,
            events=(("exception", {"exception.type": "Exception"}),),
        )
    )
    (typed,) = read(Row("x", "c", {"gen_ai.operation.name": "chat", "error.type": "timeout"}))
    assert {langfuse.status, langsmith.status, typed.status} == {Status.ERROR}
    assert (langsmith.error_type, typed.error_type) == ("Exception", "timeout")


def test_names_are_normalised() -> None:
    """Providers have one spelling, frameworks are no providers, router prefixes go."""
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "openai/gpt-5-mini"}
    (span,) = read(Row("x", "c", {**call, "gen_ai.system": "MistralAI"}))
    assert (span.provider, span.model) == ("mistral", "gpt-5-mini")
    (span,) = read(Row("x", "c", {**call, "gen_ai.provider.name": "langgraph"}))
    assert span.provider is None


def test_log_events() -> None:
    """An event that stands for an operation becomes a span that ends when it was written."""
    event = {
        "event.name": "api_request",
        "session.id": "s",
        "duration_ms": "40",
        "input_tokens": 10,
        "cost_usd": 0.5,
    }
    scope = "com.anthropic.claude_code.events"
    first, second = (read_logs(logs(scope, event), tenant="", received_ns=1)[0] for _ in range(2))
    assert (first.kind, first.signal, first.session) == (Kind.LLM, "log", "s")
    assert first.end_ns is not None
    assert first.start_ns == first.end_ns - 40_000_000
    assert first.cost_nanousd == 500_000_000
    assert (first.trace_id, first.span_id) == (second.trace_id, second.span_id)
    assert read_logs(logs(scope, {"event.name": "config"}), tenant="", received_ns=1) == []


def test_a_sse_event_is_a_call_only_when_complete() -> None:
    """Codex writes an event per chunk; the one with the figures is the call."""
    chunk = {"event.name": "codex.sse_event", "event.kind": "response.created"}
    done = {
        "event.name": "codex.sse_event",
        "event.kind": "response.completed",
        "input_token_count": "1000",
        "conversation.id": "c",
    }
    spans = read_logs(logs("codex_otel.log_only", chunk, done), tenant="", received_ns=1)
    assert [(span.kind, span.input_uncached, span.session) for span in spans] == [
        (Kind.LLM, 1000, "c")
    ]


@pytest.mark.parametrize(
    ("scope", "kind", "parameters"),
    [
        (
            "openinference.instrumentation.openai",
            "openinference.span.kind",
            "llm.invocation_parameters",
        ),
        ("traceai_openai", "gen_ai.span.kind", "gen_ai.request.parameters"),
    ],
)
def test_the_model_of_a_call_that_got_no_answer(scope: str, kind: str, parameters: str) -> None:
    """It stands among the parameters of the request, and nowhere else."""
    row = Row(scope, "ChatCompletion", {kind: "LLM", parameters: '{"model": "gpt-5"}'})
    (span,) = read(row)
    assert (span.model, span.request_model) == ("gpt-5", "gpt-5")


def test_what_logfire_writes_of_openai_agents() -> None:
    """The span name is a template that says what the span is; one attribute names it."""
    scope = "logfire.openai_agents"
    tool, agent, handoff, call = read(
        Row(scope, "Function: {name}", {"name": "lookup"}),
        Row(scope, "Agent run: {name!r}", {"name": "triage"}),
        Row(scope, "Handoff: {from_agent} \N{RIGHTWARDS ARROW} {to_agent}", {"to_agent": "sub"}),
        Row(scope, "Responses API with {gen_ai.request.model!r}", {"gen_ai.request.model": "m"}),
    )
    assert (tool.kind, tool.tool) == (Kind.TOOL, "lookup")
    assert (agent.kind, agent.agent) == (Kind.AGENT, "triage")
    assert (handoff.kind, call.kind) == (Kind.CONTROL, Kind.LLM)
