"""OpenInference: all its instrumentors share one vocabulary; a few need a function."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.dialects.dialect import Dialect, IndexedMessages
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["OPENINFERENCE", "OPENINFERENCE_MESSAGES", "SPAN_KINDS", "name_by_metadata"]

SPAN_KINDS = {
    "LLM": Kind.LLM,
    "EMBEDDING": Kind.EMBED,
    "TOOL": Kind.TOOL,
    "AGENT": Kind.AGENT,
    "CHAIN": Kind.OTHER,
    "RETRIEVER": Kind.OTHER,
    "RERANKER": Kind.OTHER,
    "GUARDRAIL": Kind.OTHER,
    "EVALUATOR": Kind.OTHER,
    "PROMPT": Kind.OTHER,
    "UNKNOWN": Kind.OTHER,
}

_FIELDS = {
    "agent": ("agent.name", "graph.node.name"),
    "model": (
        "llm.response.model_name",
        "llm.model_name",
        "embedding.model_name",
        "llm.request.model_name",
    ),
    "request_model": ("llm.request.model_name", "llm.model_name", "embedding.model_name"),
    "provider": ("llm.provider", "llm.system"),
    "tool": ("tool.name",),
    "call_id": ("tool.id", "tool_call.id"),
    "answered": (
        "output.value",
        "llm.finish_reason",
        "llm.output_messages.0.message.role",
        "llm.output_messages.0.message.content",
        "llm.response.model_name",
        "embedding.embeddings.0.embedding.vector",
    ),
}

_USAGE = {
    "input": ("llm.token_count.prompt",),
    "output": ("llm.token_count.completion",),
    "cache_read": (
        "llm.token_count.prompt_details.cache_read",
        "llm.token_count.prompt_details.cache_input",
    ),
    "cache_write": ("llm.token_count.prompt_details.cache_write",),
    "reasoning": ("llm.token_count.completion_details.reasoning",),
    "total": ("llm.token_count.total",),
    "cost": ("llm.cost.total",),
}


def _metadata(reading: Reading) -> dict[str, Any]:
    """LangChain's run metadata, JSON text in one attribute; only its end matters when long."""
    metadata = reading.json("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _finish(reading: Reading, span: Span) -> None:
    if reading.scope.endswith("langchain"):
        _name_agent(reading, span)
    if span.model is None and span.kind in (Kind.LLM, Kind.EMBED):
        span.model = _requested_model(reading)
    method = reading.name.rsplit(".", 1)[-1]
    if span.kind is Kind.LLM and method.startswith("_") and not method.startswith("__"):
        span.answered = False  # LlamaIndex: a private method that only prepares a request
    if span.kind is Kind.TOOL and span.tool is None:
        # dspy names a tool only in the span ("lookup.__call__"); a hand-off has no tool.name.
        span.tool = reading.name.split(".", 1)[0].strip() or None
    if span.kind is Kind.TOOL and reading.name.startswith("handoff"):
        span.kind = Kind.CONTROL
    if span.kind is Kind.AGENT and span.agent is None:
        # A method of the agent's class follows its name: "coder.run", "writer._execute_core".
        span.agent = reading.name.removesuffix(".run").removesuffix("._execute_core")
    if span.conversation is None and span.session is None:
        span.conversation = _thread(reading)


def _requested_model(reading: Reading) -> str | None:
    """Of a call that was streamed or failed the model may stand among its parameters alone."""
    for key in ("llm.invocation_parameters", "gen_ai.request.parameters"):
        model = dig(reading.json(key), "model")
        if isinstance(model, str) and model:
            return model
    return None


def name_by_metadata(reading: Reading, span: Span) -> None:
    """The agent and the conversation that LangChain's metadata names, where nothing else does."""
    _name_agent(reading, span)
    if span.conversation is None and span.session is None:
        span.conversation = _thread(reading)


def _name_agent(reading: Reading, span: Span) -> None:
    """An agent's root is a CHAIN of the agent's name, unless that name contains "agent"."""
    name = _metadata(reading).get("lc_agent_name")
    if not isinstance(name, str) or not name:
        return
    span.agent = name
    if reading.name == name and span.kind is Kind.OTHER:
        span.kind = Kind.AGENT


def _thread(reading: Reading) -> str | None:
    metadata = _metadata(reading)
    for key in ("session_id", "conversation_id", "thread_id"):
        value = metadata.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def redacted(text: str) -> bool:
    """True for the mask that stands where content was hidden."""
    return text == "__REDACTED__" or text == json.dumps("__REDACTED__")


OPENINFERENCE_MESSAGES = IndexedMessages(
    prompt="llm.input_messages.",
    response="llm.output_messages.",
    role=".message.role",
    content=".message.content",
    parts=(".message.contents.", ".message_content.text"),
    calls=(".message.tool_calls.", ".tool_call.id"),
)

OPENINFERENCE = Dialect(
    name="openinference",
    scopes=("openinference.instrumentation*",),
    marks=("openinference.span.kind",),
    extends=GENAI,
    kinds=(("openinference.span.kind", SPAN_KINDS),),
    fields=_FIELDS,
    usage=_USAGE,
    content={
        "prompt": ("input.value",),
        "response": ("output.value",),
        "arguments": ("input.value", "tool.parameters"),
        "result": ("output.value",),
    },
    messages=OPENINFERENCE_MESSAGES,
    finish=_finish,
)
