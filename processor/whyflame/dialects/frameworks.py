"""Frameworks that follow the convention closely enough for a table each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.openllmetry import OPENLLMETRY
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["AGENT_FRAMEWORK", "AUTOGEN", "CREWAI", "OPENAI_AGENTS", "SEMANTIC_KERNEL"]

_PLACEHOLDER_AGENT = "OpenAI Agent"

AGENT_FRAMEWORK = Dialect(
    name="agent_framework",
    scopes=("agent_framework*", "Microsoft.Agents.*", "Experimental.Microsoft.Agents*"),
    extends=GENAI,
)

AUTOGEN = Dialect(
    name="autogen",
    scopes=("autogen*", "autogen-core"),
    extends=GENAI,
    kinds=(("gen_ai.operation.name", {"create_agent": Kind.OTHER}),),
)

SEMANTIC_KERNEL = Dialect(
    name="semantic_kernel",
    scopes=("semantic_kernel*", "Microsoft.SemanticKernel*"),
    extends=GENAI,
    kinds=(
        (
            "gen_ai.operation.name",
            {
                "chat.completions": Kind.LLM,
                "chat.streaming_completions": Kind.LLM,
                "text.completions": Kind.LLM,
                "text.streaming_completions": Kind.LLM,
            },
        ),
    ),
)


def _finish_openai_agents(reading: Reading, span: Span) -> None:
    """The contrib package puts one placeholder name on everything but agents."""
    if span.agent == _PLACEHOLDER_AGENT:
        span.agent = None
    if span.kind is Kind.AGENT and span.agent is None:
        span.agent = reading.name
    span.remote = False  # CLIENT here says nothing about where the agent runs


OPENAI_AGENTS = Dialect(
    name="openai_agents",
    scopes=(
        "opentelemetry.instrumentation.openai_agents*",
        "opentelemetry.instrumentation.genai.openai_agents*",
    ),
    extends=OPENLLMETRY,
    kinds=(("gen_ai.operation.name", {"agent_handoff": Kind.CONTROL, "handoff": Kind.CONTROL}),),
    finish=_finish_openai_agents,
)


def _finish_crewai(reading: Reading, span: Span) -> None:
    """Crew, task and agent spans all say `invoke_agent`; only the last is an agent."""
    if reading.has("crewai.task.id") and not reading.has("crewai.agent.id"):
        span.kind = Kind.OTHER
    elif reading.has("crewai.crew.id"):
        span.agent = reading.text("crewai.crew.name") or "crew"


CREWAI = Dialect(
    name="crewai",
    scopes=("opentelemetry.instrumentation.crewai*",),
    extends=OPENLLMETRY,
    fields={"agent": ("gen_ai.agent.name", "crewai.agent.role")},
    finish=_finish_crewai,
)
