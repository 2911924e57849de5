"""Codex CLI: hundreds of internal spans a turn, of which a few are calls; and log events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["CODEX"]

_COMPLETED = frozenset({"response.completed", "response.failed", "response.incomplete"})
_STREAM_EVENTS = frozenset({"codex.sse_event", "codex.websocket_event"})


def _finish(reading: Reading, span: Span) -> None:
    if reading.name in _STREAM_EVENTS:
        if reading.text("event.kind") not in _COMPLETED or not reading.has("input_token_count"):
            span.kind = Kind.OTHER
    elif reading.name == "handle_responses" and reading.has("gen_ai.usage.input_tokens"):
        span.kind = Kind.LLM
    elif reading.text("codex.tool.phase") == "dispatch":
        span.kind = Kind.TOOL
        span.tool = span.tool or reading.name
    if span.kind is Kind.AGENT:
        span.agent = span.agent or "codex"
    if span.kind is Kind.LLM:
        span.answered = True
        span.provider = span.provider or "openai"
    if span.kind is Kind.TOOL and reading.flag("success") is False:
        span.status = Status.ERROR


CODEX = Dialect(
    name="codex",
    scopes=("codex", "codex_*", "codex-*"),
    extends=GENAI,
    kinds=(("", {"session_task.turn": Kind.AGENT}),),
    fields={
        "session": ("conversation.id",),
        "agent": ("agent_name",),
        "model": ("gen_ai.response.model", "gen_ai.request.model", "model"),
        "tool": ("tool_name",),
        "call_id": ("call_id",),
    },
    usage={
        "input": ("input_token_count", "codex.turn.token_usage.input_tokens"),
        "output": ("output_token_count", "codex.turn.token_usage.output_tokens"),
        "cache_read": ("cached_token_count",),
        "cache_write": ("cache_write_token_count",),
        "reasoning": ("reasoning_token_count", "codex.usage.reasoning_output_tokens"),
        "total": ("codex.usage.total_tokens",),
    },
    content={
        "prompt": ("prompt",),
        "arguments": ("arguments",),
        "result": ("output",),
    },
    wire=6,
    events={
        "codex.sse_event": Kind.LLM,
        "codex.websocket_event": Kind.LLM,
        "codex.tool_result": Kind.TOOL,
        "codex.user_prompt": Kind.PROMPT,
    },
    finish=_finish,
)
