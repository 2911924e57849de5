"""pydantic-ai's own instrumentation, and Logfire's of model clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.api_usage import take_api_usage
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["LOGFIRE", "LOGFIRE_AGENTS", "PYDANTIC_AI"]

_ANSWERS = ("response_data", "gen_ai.response.id", "gen_ai.output.messages", "gen_ai.usage.raw")
_NAMES = {"agent run": Kind.AGENT, "running tool": Kind.TOOL, "running tools": Kind.OTHER}


def _read_raw_usage(reading: Reading, usage: Usage) -> None:
    """What the API said in full; the plain attributes beside it leave parts out."""
    figures = reading.json("gen_ai.usage.raw") or dig(reading.json("response_data"), "usage")
    if isinstance(figures, dict):
        usage.take("input", reading.value("gen_ai.usage.input_tokens"))
        usage.take("output", reading.value("gen_ai.usage.output_tokens"))
        take_api_usage(figures, usage)


def _finish_client(reading: Reading, span: Span) -> None:
    """Logfire wrote client spans without an operation name before it followed the convention.

    A stream is two of them: one until it opens, and one that tells at its end what came of it.
    Both name a model that answers, before anything has answered.
    """
    if not reading.has("request_data"):
        return
    span.model = span.model or dig(reading.json("request_data"), "model")
    if span.kind is Kind.OTHER and span.model is not None:
        span.kind = Kind.EMBED if "mbedding" in reading.name else Kind.LLM
    at_end = reading.text("logfire.span_type") == "log"
    span.answered = at_end or any(reading.has(key) for key in _ANSWERS)


PYDANTIC_AI = Dialect(
    name="pydantic_ai",
    scopes=("pydantic-ai", "pydantic_ai*"),
    marks=("pydantic_ai.all_messages", "gen_ai.agent.call.id"),
    extends=GENAI,
    kinds=(("gen_ai.operation.name", GENAI.kinds[0][1]), ("", _NAMES)),
    fields={"agent": ("gen_ai.agent.name", "agent_name"), "provider": ("gen_ai.system",)},
    usage={
        "input": ("gen_ai.usage.input_tokens", "gen_ai.aggregated_usage.input_tokens"),
        "output": ("gen_ai.usage.output_tokens", "gen_ai.aggregated_usage.output_tokens"),
        "cost": ("operation.cost",),
    },
    content={
        "prompt": (
            "gen_ai.input.messages",
            "pydantic_ai.all_messages",
            "all_messages_events",
            "events",
        ),
        "response": ("gen_ai.output.messages", "final_result", "events"),
        "arguments": ("gen_ai.tool.call.arguments", "tool_arguments"),
        "result": ("gen_ai.tool.call.result", "tool_response"),
    },
)

LOGFIRE = Dialect(
    name="logfire",
    scopes=("logfire", "logfire.*"),
    extends=PYDANTIC_AI,
    content={"prompt": ("request_data",), "response": ("response_data",)},
    wire=6,
    read_usage=_read_raw_usage,
    finish=_finish_client,
)


def _finish_agents(reading: Reading, span: Span) -> None:
    """One attribute holds the name, of whatever the span is."""
    if span.kind is Kind.TOOL:
        span.tool = reading.text("name")
    if span.kind is Kind.AGENT:
        span.agent = reading.text("name")


LOGFIRE_AGENTS = Dialect(
    name="logfire",
    scopes=("logfire.openai_agents",),
    extends=LOGFIRE,
    wire=2,
    kinds=(
        (
            "",
            {
                "Function: {name}": Kind.TOOL,
                "Agent run: {name!r}": Kind.AGENT,
                "Handoff: {from_agent} \N{RIGHTWARDS ARROW} {to_agent}": Kind.CONTROL,
                "Responses API with {gen_ai.request.model!r}": Kind.LLM,
                "Chat completion with {gen_ai.request.model!r}": Kind.LLM,
            },
        ),
    ),
    content={"arguments": ("input",), "result": ("output",)},
    finish=_finish_agents,
)
