"""MLflow Tracing: its own vocabulary, every value of which is JSON, text in quotes too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.api_usage import take_api_usage
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.langfuse import unquote
from whyflame.dialects.literals import dig
from whyflame.dialects.openinference import name_by_metadata
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["MLFLOW"]

_TYPES = {
    "LLM": Kind.LLM,
    "CHAT_MODEL": Kind.LLM,
    "EMBEDDING": Kind.EMBED,
    "TOOL": Kind.TOOL,
    "AGENT": Kind.AGENT,
}
_QUOTED = {f'"{name}"': kind for name, kind in _TYPES.items()}


def _read_usage(reading: Reading, usage: Usage) -> None:
    """One object brought to one meaning: the input holds the cache, Gemini's total thoughts."""
    cost = reading.json("mlflow.llm.cost")
    if isinstance(cost, dict):
        usage.take("cost", cost.get("total_cost"))
    figures = reading.json("mlflow.chat.tokenUsage")
    if isinstance(figures, dict):
        take_api_usage(figures, usage)
    answer = dig(reading.json("mlflow.spanOutputs"), "usage")
    if isinstance(answer, dict):
        take_api_usage(answer, usage)  # reasoning, and all of embeddings
    usage.thoughts_in_total = unquote(reading.text("mlflow.message.format")) == "gemini"


def _finish(reading: Reading, span: Span) -> None:
    span.model, span.request_model = unquote(span.model), unquote(span.request_model)
    span.provider, span.call_id = unquote(span.provider), unquote(span.call_id)
    name_by_metadata(reading, span)
    if span.kind is Kind.TOOL:
        span.tool = span.tool or reading.name
    if span.kind is Kind.AGENT:
        span.agent = span.agent or reading.name


MLFLOW = Dialect(
    name="mlflow",
    marks=("mlflow.spanType",),
    extends=GENAI,
    kinds=(("mlflow.spanType", _TYPES | _QUOTED),),
    fields={
        "model": ("mlflow.llm.model", "model"),
        "request_model": ("model", "mlflow.llm.model"),
        "provider": ("mlflow.llm.provider",),
        "call_id": ("tool_call_id",),
        "answered": ("mlflow.spanOutputs", "mlflow.chat.tokenUsage"),
    },
    content={
        "prompt": ("mlflow.spanInputs",),
        "response": ("mlflow.spanOutputs",),
        "arguments": ("mlflow.spanInputs",),
        "result": ("mlflow.spanOutputs",),
    },
    read_usage=_read_usage,
    finish=_finish,
)
