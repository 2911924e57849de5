"""Claude Code: beta spans, and log events that carry the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["CLAUDE_CODE"]

_SPAN_TYPES = {
    "llm_request": Kind.LLM,
    "tool": Kind.TOOL,
    "tool.execution": Kind.TOOL,  # a nameless view of its parent: gives the error
    "tool.blocked_on_user": Kind.OTHER,
    "interaction": Kind.AGENT,
    "hook": Kind.OTHER,
}
_EVENTS = {
    "api_request": Kind.LLM,
    "api_error": Kind.LLM,
    "tool_result": Kind.TOOL,
    "user_prompt": Kind.PROMPT,
}
_FAILURES = frozenset({"api_error", "claude_code.api_error"})
_SUBAGENT_SOURCE = "agent:"


def _finish(reading: Reading, span: Span) -> None:
    if reading.flag("success") is False or reading.name in _FAILURES:
        span.status = Status.ERROR
    attempt = reading.value("attempt")
    if span.kind is Kind.LLM and isinstance(attempt, int) and attempt > 1:
        span.resends = attempt - 1
    if span.kind is Kind.AGENT:
        span.agent = span.agent or "claude-code"
    source = reading.text("query_source") or ""
    if span.agent is None and source.startswith(_SUBAGENT_SOURCE):
        span.agent = source.rsplit(":", 1)[-1] or None
    if span.kind is Kind.LLM and span.provider is None:
        span.provider = "anthropic"


CLAUDE_CODE = Dialect(
    name="claude_code",
    scopes=("com.anthropic.claude_code*",),
    extends=GENAI,
    kinds=(("span.type", _SPAN_TYPES),),
    fields={
        "model": ("gen_ai.response.model", "model"),
        "tool": ("tool_name",),
        "call_id": ("tool_use_id",),
        "agent": ("agent.name", "agent_name"),
        "agent_id": ("agent_id",),
        "response_id": ("request_id",),
        "error_type": ("error_type", "error.type"),
        "answered": ("stop_reason", "success", "output_tokens"),
    },
    usage={
        "input": ("input_tokens",),
        "output": ("output_tokens",),
        "cache_read": ("cache_read_tokens",),
        "cache_write": ("cache_creation_tokens",),
        "cost": ("cost_usd",),
    },
    cache_outside=True,
    content={
        "prompt": ("user_prompt", "prompt"),
        "response": ("response",),
        "arguments": ("tool_input", "full_command", "tool_parameters", "file_path"),
        "result": ("error", "tool_output"),
    },
    wire=6,
    events={
        name: kind for plain, kind in _EVENTS.items() for name in (plain, f"claude_code.{plain}")
    },
    finish=_finish,
)
