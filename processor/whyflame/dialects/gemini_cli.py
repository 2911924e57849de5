"""Gemini CLI and its descendant Qwen Code: events are complete, spans lack figures and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.dialects.content import set_text
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Content, Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["GEMINI_CLI", "QWEN_CODE"]

_SPANS = {
    "llm_call": Kind.LLM,
    "tool_call": Kind.TOOL,
    "schedule_tool_calls": Kind.OTHER,
    "user_prompt": Kind.AGENT,
    "agent_call": Kind.AGENT,
}
_EVENTS = {
    "api_response": Kind.LLM,
    "api_error": Kind.LLM,
    "tool_call": Kind.TOOL,
    "user_prompt": Kind.PROMPT,
}
_FIELDS = {
    "model": ("model", "gen_ai.response.model", "gen_ai.request.model"),
    "tool": ("function_name", "gen_ai.tool.name"),
    "call_id": ("call_id",),
    "response_id": ("response_id",),
    "agent": ("subagent_name", "gen_ai.agent.name"),
    "error_type": ("error_type", "error.type"),
    "answered": ("status_code", "output_token_count"),
}
_USAGE = {
    "input": ("input_token_count",),
    "output": ("output_token_count",),
    "cache_read": ("cached_content_token_count",),
    "reasoning": ("thoughts_token_count",),
    "total": ("total_token_count",),
}
_CONTENT = {
    "prompt": ("prompt", "request_text"),
    "response": ("response_text",),
    "arguments": ("function_args",),
    "result": ("error", "error.message"),
}


# Of two views of one call the numbers of the event count: it has the cache and thinking.
_EVENT_WIRE, _SPAN_WIRE = 6, 5


def _finish(reading: Reading, span: Span) -> None:
    if span.signal == "span":
        span.wire = _SPAN_WIRE
        if span.kind is Kind.TOOL:
            span.content = _tool_content(reading)
    if reading.name.endswith(".api_error") or reading.flag("success") is False:
        span.status = Status.ERROR


def _tool_content(reading: Reading) -> Content:
    """What a tool span says of its call, as objects of the scheduler under the names of messages."""
    content = Content()
    asked, done = reading.json("gen_ai.input.messages"), reading.json("gen_ai.output.messages")
    arguments = asked.get("args") if isinstance(asked, dict) else None
    if arguments and isinstance(arguments, dict):
        set_text(content, "arguments", json.dumps(arguments, ensure_ascii=False))
    if result := _results(done):
        set_text(content, "result", result)
    return content


def _results(done: Any) -> str:
    parts: Any = done
    for name in ("response", "responseParts"):
        parts = parts.get(name) if isinstance(parts, dict) else None
    found = []
    for part in parts if isinstance(parts, list) else ():
        answer: Any = part
        for name in ("functionResponse", "response"):
            answer = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(answer, dict):
            found += [answer.get("error"), answer.get("output")]
    return "\n".join(text for text in found if isinstance(text, str))


def _events(prefix: str) -> dict[str, Kind]:
    events = {f"{prefix}.{name}": kind for name, kind in _EVENTS.items()}
    # Written beside every api_request and api_response: the same call once more.
    return {**events, "gen_ai.client.inference.operation.details": Kind.OTHER}


GEMINI_CLI = Dialect(
    name="gemini_cli",
    scopes=("gemini-cli",),
    extends=GENAI,
    kinds=(("gen_ai.operation.name", _SPANS),),
    fields=_FIELDS,
    usage=_USAGE,
    reasoning_outside=True,
    content=_CONTENT,
    wire=_EVENT_WIRE,
    events=_events("gemini_cli"),
    finish=_finish,
)

QWEN_CODE = Dialect(
    name="qwen_code",
    scopes=("qwen-code",),
    extends=GENAI,
    kinds=(("gen_ai.operation.name", _SPANS),),
    fields=_FIELDS,
    usage=_USAGE,
    content=_CONTENT,
    wire=_EVENT_WIRE,
    events=_events("qwen-code"),
    finish=_finish,
)
