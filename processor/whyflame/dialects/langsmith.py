"""LangSmith's OpenTelemetry export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import parse_literal
from whyflame.dialects.values import read_count
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["LANGSMITH"]

_KINDS = {
    "llm": Kind.LLM,
    "embedding": Kind.EMBED,
    "tool": Kind.TOOL,
    "chain": Kind.OTHER,
    "retriever": Kind.OTHER,
    "prompt": Kind.OTHER,
    "parser": Kind.OTHER,
}


def _cache_write(details: dict[str, Any]) -> int | None:
    """The whole and its two buckets name the same tokens, and one side may be 0: the larger."""
    whole = read_count(details.get("cache_creation"))
    buckets = [
        read_count(details.get(key))
        for key in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
    ]
    known = [bucket for bucket in buckets if isinstance(bucket, int)]
    candidates = [whole] if isinstance(whole, int) else []
    if known:
        candidates.append(sum(known))
    return max(candidates) if candidates else None


def _read_usage(reading: Reading, usage: Usage) -> None:
    """The JSON metadata is complete and survives hidden outputs; details are a Python repr."""
    metadata = parse_literal(reading.value("langsmith.metadata.usage_metadata"))
    if isinstance(metadata, dict):
        _read_details(metadata, "input_token_details", "output_token_details", usage)
        for part in ("input", "output", "total"):
            usage.take(part, metadata.get(f"{part}_tokens"))
    spread = {
        key: parse_literal(reading.value(f"gen_ai.usage.{key}"))
        for key in ("input_token_details", "output_token_details")
    }
    _read_details(spread, "input_token_details", "output_token_details", usage)


def _read_details(source: dict[str, Any], inputs: str, outputs: str, usage: Usage) -> None:
    read = source.get(inputs)
    if isinstance(read, dict):
        usage.take("cache_read", read.get("cache_read"))
        usage.take("cache_write", _cache_write(read))
    written = source.get(outputs)
    if isinstance(written, dict):
        usage.take("reasoning", written.get("reasoning"))


def _finish(reading: Reading, span: Span) -> None:
    if span.status is not Status.ERROR and reading.event("exception") is not None:
        # OK is set at the start of a run that is exported in two steps; the SDK keeps it.
        span.status = Status.ERROR
    if span.provider == "langchain":
        span.provider = reading.text("langsmith.metadata.ls_provider")
    agent = reading.text("langsmith.metadata.lc_agent_name")
    span.agent = span.agent or agent
    if agent and reading.name == agent and span.kind is Kind.OTHER:
        span.kind = Kind.AGENT
    if span.kind is Kind.TOOL:
        span.tool = span.tool or reading.name


LANGSMITH = Dialect(
    name="langsmith",
    marks=("langsmith.span.kind",),
    scopes=("langsmith",),
    extends=GENAI,
    kinds=(("langsmith.span.kind", _KINDS),),
    fields={"model": ("gen_ai.response.model", "langsmith.metadata.ls_model_name")},
    read_usage=_read_usage,
    finish=_finish,
)
