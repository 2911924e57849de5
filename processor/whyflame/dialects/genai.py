"""OpenTelemetry GenAI conventions, every generation of names; the base of most other dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.evaluation import EVALUATION
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["ANTHROPIC_SDK", "BEDROCK", "GENAI", "OPERATIONS"]

OPERATIONS = {
    "chat": Kind.LLM,
    "generate_content": Kind.LLM,
    "text_completion": Kind.LLM,
    "completion": Kind.LLM,
    "completions": Kind.LLM,
    "generate": Kind.LLM,
    "responses": Kind.LLM,
    "response": Kind.LLM,
    "openai.responses.create": Kind.LLM,
    "messages": Kind.LLM,
    "embeddings": Kind.EMBED,
    "embedding": Kind.EMBED,
    "embed": Kind.EMBED,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "handoff": Kind.CONTROL,
    "create_agent": Kind.OTHER,
    "plan": Kind.OTHER,
    "retrieval": Kind.OTHER,
    "agent_step": Kind.OTHER,
    "execute_task": Kind.OTHER,
    "chain": Kind.OTHER,
}
"""Values of `gen_ai.operation.name`. One that is not here decides nothing."""

_FIELDS = {
    "session": (
        "langfuse.session.id",
        "session.id",
        "traceloop.association.properties.session_id",
        "ai.telemetry.metadata.sessionId",
        "ai.settings.context.sessionId",
        "langsmith.metadata.session_id",
        "traceloop.association.properties.langfuse_session_id",
    ),
    "conversation": (
        "gen_ai.conversation.id",
        "conversation.id",
        "langsmith.metadata.conversation_id",
        "langsmith.metadata.thread_id",
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.conversation_id",
        "thread_id",
    ),
    "user": (
        "user.id",
        "enduser.id",
        "traceloop.association.properties.user_id",
        "ai.telemetry.metadata.userId",
        "ai.settings.context.userId",
        "langsmith.metadata.user_id",
    ),
    "agent": ("gen_ai.agent.name", "gen_ai.workflow.name", "agent.name"),
    "agent_id": ("gen_ai.agent.id",),
    "model": ("gen_ai.response.model", "gen_ai.request.model", "llm.response.model"),
    "request_model": ("gen_ai.request.model", "llm.request.model"),
    "provider": ("gen_ai.provider.name", "gen_ai.system"),
    "tool": ("gen_ai.tool.name",),
    "call_id": ("gen_ai.tool.call.id", "gen_ai.tool.call_id"),
    "response_id": ("gen_ai.response.id", "gen_ai.response_id"),
    "error_type": ("error.type",),
    "outcome": (
        "whyflame.outcome",
        "gen_ai.evaluation.score.label",
        "outcome",
        "gen_ai.evaluation.score.value",
    ),
    "skill": ("gen_ai.skill.name", "skill.name", "skill_name"),
    "resends": ("http.request.resend_count",),
    "answered": (
        "gen_ai.response.id",
        "gen_ai.response.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.response.finish_reason",
        "gen_ai.output.messages",
        "gen_ai.completion",
        "gen_ai.completion.0.role",
        "gen_ai.completion.0.content",
        "gen_ai.completion.0.finish_reason",
        "gen_ai.response.time_to_first_chunk",
    ),
}

_USAGE = {
    "input": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "gen_ai.response.prompt_tokens",
    ),
    "output": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.usage.completion_tokens",
        "gen_ai.response.completion_tokens",
    ),
    "cache_read": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cache_read_input_tokens",
        "gen_ai.usage.details.cached_tokens",
        "gen_ai.usage.input_cached_tokens",
        "gen_ai.usage.cached_tokens",
    ),
    "cache_write": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.cache_write_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
        "gen_ai.usage.input_cache_creation",
    ),
    "reasoning": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.reasoning_output_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.usage.reasoning_tokens",
    ),
    "total": ("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
    "cost": ("gen_ai.usage.cost", "gen_ai.usage.total_cost", "gen_ai.cost.total_cost"),
}

_CONTENT = {
    "prompt": ("gen_ai.input.messages", "gen_ai.prompt"),
    "response": ("gen_ai.output.messages", "gen_ai.completion"),
    "arguments": ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "gen_ai.prompt"),
    "result": ("gen_ai.tool.call.result", "gen_ai.tool.result", "gen_ai.completion"),
}


def _finish(reading: Reading, span: Span) -> None:
    """A hand-off by the convention's own mark; an agent behind a client call is remote."""
    if span.kind is Kind.TOOL and reading.has("gen_ai.transfer.target.name"):
        span.kind = Kind.CONTROL
    if span.kind is Kind.AGENT and reading.kind == 3:  # noqa: PLR2004 - SPAN_KIND_CLIENT
        span.remote = True


GENAI = Dialect(
    name="genai",
    scopes=("opentelemetry.instrumentation.genai.*", "opentelemetry.util.genai*"),
    marks=("gen_ai.*",),
    kinds=(
        ("gen_ai.operation.name", OPERATIONS),
        (
            "llm.request.type",
            {
                "chat": Kind.LLM,
                "completion": Kind.LLM,
                "embedding": Kind.EMBED,
                "rerank": Kind.OTHER,
            },
        ),
    ),
    fields=_FIELDS,
    usage=_USAGE,
    content=_CONTENT,
    events={"gen_ai.client.inference.operation.details": Kind.LLM, EVALUATION: Kind.OTHER},
    finish=_finish,
)

ANTHROPIC_SDK = Dialect(
    name="anthropic_sdk",
    scopes=("com.anthropic.sdk.*",),
    extends=GENAI,
    fields={"answered": ("anthropic.message.stop_reason",)},
    usage={
        "cache_write": ("gen_ai.usage.cache_write.input_tokens",),
    },
    content={"result": ("anthropic.tool_result.content",)},
    wire=9,
)

BEDROCK = Dialect(
    name="bedrock",
    scopes=(
        "opentelemetry.instrumentation.bedrock*",
        "opentelemetry.instrumentation.botocore.bedrock-runtime",
    ),
    extends=GENAI,
    cache_outside=True,
)
