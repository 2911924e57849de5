"""OpenLLMetry (Traceloop): decorators and instrumentations of `opentelemetry.instrumentation.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect, IndexedMessages
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["OPENLLMETRY", "OPENLLMETRY_CLAUDE_JS", "OPENLLMETRY_GOOGLE"]

_SPAN_KINDS = {
    "workflow": Kind.AGENT,
    "agent": Kind.AGENT,
    "task": Kind.OTHER,
    "tool": Kind.TOOL,
    "handoff": Kind.CONTROL,
    "unknown": Kind.OTHER,
}
_PACKAGES = (
    "alephalpha",
    "anthropic",
    "cohere",
    "groq",
    "google_generativeai",
    "haystack",
    "langchain",
    "llamaindex",
    "mcp",
    "mistralai",
    "ollama",
    "openai",
    "replicate",
    "sagemaker",
    "together",
    "transformers",
    "vertexai",
    "watsonx",
    "writer",
)
_FRAMEWORKS = frozenset({"langchain", "langgraph", "crewai", "llamaindex", "llama_index"})


def _finish(reading: Reading, span: Span) -> None:
    entity = reading.text("traceloop.entity.name")
    if span.kind is Kind.TOOL and span.tool is None:
        span.tool = entity
    if span.kind is Kind.AGENT and span.agent is None:
        span.agent = reading.text("traceloop.workflow.name") or entity
    if _is_llama_index_tool(reading, span, entity):
        span.kind, span.tool = Kind.TOOL, reading.text("tool.name")
    if span.provider in _FRAMEWORKS:
        span.provider = None


def _is_llama_index_tool(reading: Reading, span: Span, entity: str | None) -> bool:
    """LlamaIndex writes a task for the step that names the tool, and one of the tool's class."""
    if span.kind is not Kind.OTHER or ".llamaindex" not in reading.scope or entity is None:
        return False
    return reading.has("tool.name") or entity.removesuffix(".task").endswith("Tool")


OPENLLMETRY = Dialect(
    name="openllmetry",
    scopes=(
        "traceloop.*",
        "@traceloop/*",
        *(f"opentelemetry.instrumentation.{package}" for package in _PACKAGES),
        *(f"opentelemetry.instrumentation.{package}.*" for package in _PACKAGES),
    ),
    marks=("traceloop.span.kind", "traceloop.entity.name", "llm.request.type"),
    extends=GENAI,
    kinds=(("traceloop.span.kind", _SPAN_KINDS),),
    fields={
        "agent": (
            "gen_ai.agent.name",
            "traceloop.association.properties.lc_agent_name",
            "traceloop.workflow.name",
        ),
        "call_id": ("traceloop.association.properties.tool_call_id",),
    },
    content={
        "prompt": ("gen_ai.task.input", "traceloop.entity.input"),
        "response": ("gen_ai.task.output", "traceloop.entity.output"),
        "arguments": ("gen_ai.tool.call.arguments", "traceloop.entity.input"),
        "result": ("gen_ai.tool.call.result", "traceloop.entity.output"),
    },
    messages=IndexedMessages(
        prompt="gen_ai.prompt.",
        response="gen_ai.completion.",
        role=".role",
        content=".content",
        calls=(".tool_calls.", ".id"),
    ),
    finish=_finish,
)


def _read_google(_reading: Reading, usage: Usage) -> None:
    usage.thoughts_in_total = True


OPENLLMETRY_GOOGLE = Dialect(
    name="openllmetry",
    scopes=(
        "opentelemetry.instrumentation.google_generativeai*",
        "opentelemetry.instrumentation.vertexai*",
    ),
    extends=OPENLLMETRY,
    read_usage=_read_google,
)

OPENLLMETRY_CLAUDE_JS = Dialect(
    name="openllmetry",
    scopes=("@traceloop/instrumentation-anthropic", "@traceloop/instrumentation-bedrock"),
    extends=OPENLLMETRY,
    cache_outside=True,
)
