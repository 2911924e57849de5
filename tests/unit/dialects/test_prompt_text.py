"""What a user asked, without what the program put around it."""

from __future__ import annotations

import json

import pytest
from tests.otlp import Row, logs, traces

from whyflame.dialects import read_logs, read_traces
from whyflame.model import Kind

CONTEXT = "<session_context>\nThis is the Gemini CLI.\n├───src/\n</session_context>"


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": CONTEXT}, {"text": "Fix the login."}],
        [{"text": f"{CONTEXT}\nFix the login."}],
        [{"text": "Fix the login."}],
    ],
    ids=["parts", "one text", "no context"],
)
def test_the_context_that_gemini_cli_puts_in_front_is_no_request(parts: list[object]) -> None:
    messages = json.dumps([{"role": "user", "parts": parts}])
    attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.input.messages": messages}
    body = traces(Row("gemini-cli", "llm_call", attributes))
    (span,) = read_traces(body, tenant="", received_ns=0)
    assert span.content is not None
    assert (span.content.prompt, span.content.prompt_bytes) == ("Fix the login.", 14)


def test_a_message_of_context_alone_is_kept_as_it_is() -> None:
    messages = json.dumps([{"role": "user", "parts": [{"text": CONTEXT}]}])
    attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.input.messages": messages}
    (span,) = read_traces(
        traces(Row("gemini-cli", "llm_call", attributes)), tenant="", received_ns=0
    )
    assert span.content is not None
    assert span.content.prompt == CONTEXT


@pytest.mark.parametrize(
    ("scope", "event"),
    [
        ("gemini-cli", "gemini_cli.user_prompt"),
        ("com.anthropic.claude_code.events", "user_prompt"),
        ("codex_cli_rs", "codex.user_prompt"),
    ],
)
def test_an_event_of_a_request_carries_its_text(scope: str, event: str) -> None:
    body = logs(scope, {"event.name": event, "prompt": "Fix the login.", "session.id": "s"})
    (span,) = read_logs(body, tenant="", received_ns=0)
    assert span.kind is Kind.PROMPT
    assert span.content is not None
    assert span.content.prompt == "Fix the login."


def test_a_tool_span_of_gemini_cli_has_its_arguments_and_result() -> None:
    """They stand in messages, as objects of its scheduler."""
    request = {"callId": "c", "name": "read_file", "args": {"file_path": "a.py"}}
    response = {"functionResponse": {"id": "c", "response": {"error": "File not found: a.py"}}}
    done = {"status": "error", "request": request, "response": {"responseParts": [response]}}
    attributes = {
        "gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "read_file",
        "gen_ai.input.messages": json.dumps(request), "gen_ai.output.messages": json.dumps(done),
    }  # fmt: skip
    (span,) = read_traces(
        traces(Row("gemini-cli", "tool_call", attributes)), tenant="", received_ns=0
    )
    assert span.content is not None
    assert span.content.arguments == '{"file_path": "a.py"}'
    assert span.content.result == "File not found: a.py"


@pytest.mark.parametrize("cut", ['{"args": {"comm', '{"args": 5}', "[]", '{"response": []}'])
def test_what_is_cut_or_unlike_gives_no_text(cut: str) -> None:
    attributes = {
        "gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "run",
        "gen_ai.input.messages": cut, "gen_ai.output.messages": cut,
    }  # fmt: skip
    (span,) = read_traces(
        traces(Row("gemini-cli", "tool_call", attributes)), tenant="", received_ns=0
    )
    assert span.content is not None
    assert (span.content.arguments, span.content.result) == (None, None)
