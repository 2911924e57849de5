"""pydantic-ai's own instrumentation, and Logfire's of model clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["LOGFIRE", "PYDANTIC_AI"]

_NAMES = {"agent run": Kind.AGENT, "running tool": Kind.TOOL, "running tools": Kind.OTHER}


def _finish_client(reading: Reading, span: Span) -> None:
    """Logfire wrote client spans without an operation name before it followed the convention."""
    is_call = reading.has("gen_ai.request.model") and reading.has("request_data")
    if span.kind is Kind.OTHER and is_call:
        span.kind = Kind.EMBED if "mbedding" in reading.name else Kind.LLM
    if span.kind is Kind.LLM and reading.has("response_data"):
        span.answered = True


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
    finish=_finish_client,
)
