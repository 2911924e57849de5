"""Strands Agents: texts are span events; agent spans carry running totals (claims only)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.content import set_prompt, set_text
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.messages import asked_calls, flatten_text, parse
from whyflame.dialects.values import read_text
from whyflame.model import Content, Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["STRANDS"]

_OPERATIONS = {
    "execute_event_loop_cycle": Kind.OTHER,
    "invoke_swarm": Kind.AGENT,
    "invoke_graph": Kind.AGENT,
}
_NAMES = {"Model invoke": Kind.LLM, "execute_event_loop_cycle": Kind.OTHER}


def _finish(reading: Reading, span: Span) -> None:
    if reading.name.startswith("Tool: ") and span.kind is Kind.OTHER:
        span.kind, span.tool = Kind.TOOL, span.tool or reading.name[len("Tool: ") :]
    if reading.text("gen_ai.tool.status", "tool.status") == "error":
        span.status = Status.ERROR
    if span.kind is Kind.AGENT and span.agent is None:
        span.agent = reading.text("gen_ai.operation.name", "agent.name")
    _read_events(reading, span)


def _read_events(reading: Reading, span: Span) -> None:
    """The newest user message and the choice; results of tools come as messages of role tool."""
    content = Content()
    users = 0
    for event in reading.events:
        raw = event.attributes.get("content") or event.attributes.get("message")
        text = read_text(raw) if raw else None
        if text is None:
            continue
        if event.name == "gen_ai.choice":
            parsed = parse(text)
            span.answered = True
            span.asked = tuple(asked_calls(parsed))
            part = "result" if span.kind is Kind.TOOL else "response"
            set_text(content, part, flatten_text(parsed) or text)
        elif event.name == "gen_ai.tool.message" and span.kind is Kind.TOOL:
            set_text(content, "arguments", text)
        elif event.name == "gen_ai.user.message" and (said := flatten_text(parse(text))):
            users += 1
            set_prompt(content, said, users)
    span.content = content


STRANDS = Dialect(
    name="strands",
    scopes=("strands.*", "strands-agents", "opentelemetry.instrumentation.strands"),
    extends=GENAI,
    kinds=(("gen_ai.operation.name", _OPERATIONS), ("", _NAMES)),
    fields={
        "agent": ("gen_ai.agent.name", "agent.name"),
        "tool": ("gen_ai.tool.name", "tool.name"),
        "call_id": ("gen_ai.tool.call.id", "tool.id"),
    },
    finish=_finish,
)
