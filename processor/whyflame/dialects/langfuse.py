"""Langfuse SDK: one attribute for usage, five shapes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig, parse_literal
from whyflame.dialects.values import read_count
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["LANGFUSE"]

_TYPES = {
    "generation": Kind.LLM,
    "embedding": Kind.EMBED,
    "tool": Kind.TOOL,
    "agent": Kind.AGENT,
    "chain": Kind.OTHER,
    "span": Kind.OTHER,
    "event": Kind.OTHER,
    "retriever": Kind.OTHER,
    "guardrail": Kind.OTHER,
    "evaluator": Kind.OTHER,
}

_READ = (
    "input_cache_read",
    "cache_read_input_tokens",
    "input_cached_tokens",
    "cache_read_tokens",
    "input_cache_read_tokens",
    "cached_tokens",
)
_WRITE = (
    "input_cache_creation",
    "cache_creation_input_tokens",
    "cache_write_tokens",
    "input_cache_write",
    "input_cache_creation_tokens",
)
_REASONING = ("output_reasoning", "output_reasoning_tokens", "reasoning_tokens")
_INPUT = ("input", "input_tokens", "prompt_tokens")
_OUTPUT = ("output", "output_tokens", "completion_tokens")
_TOTAL = ("total", "total_tokens")
_SUBSETS = ("_creation_5m", "_creation_1h", "ephemeral_5m", "ephemeral_1h")


def _first(details: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        count = read_count(details[key]) if details.get(key) is not None else None
        if isinstance(count, int):
            return count
    return None


def _extra(details: dict[str, Any], prefix: str, known: tuple[str, ...]) -> int:
    """Further buckets of one side (audio, image, ...) that lie beside the main one."""
    total = 0
    for key, value in details.items():
        if not key.startswith(prefix) or key in known or any(part in key for part in _SUBSETS):
            continue
        count = read_count(value)
        total += count if isinstance(count, int) else 0
    return total


def _read_usage(reading: Reading, usage: Usage) -> None:
    cost = parse_literal(reading.value("langfuse.observation.cost_details"))
    if isinstance(cost, dict) and cost.get("total") and usage.cost is None:
        usage.take("cost", cost["total"])
    details = parse_literal(reading.value("langfuse.observation.usage_details"))
    if not isinstance(details, dict) or not details:
        return
    if any(isinstance(value, dict) for value in details.values()):
        _read_nested(details, usage)
    else:
        _read_flat(details, usage)


def _read_nested(details: dict[str, Any], usage: Usage) -> None:
    """The raw object of OpenAI's chat or responses API: totals, with parts in sub-objects."""
    inner_in = details.get("prompt_tokens_details") or details.get("input_tokens_details")
    inner_out = details.get("completion_tokens_details") or details.get("output_tokens_details")
    usage.replace(
        input=_first(details, _INPUT),
        output=_first(details, _OUTPUT),
        cache_read=dig(inner_in, "cached_tokens"),
        cache_write=dig(inner_in, "cache_write_tokens"),
        reasoning=dig(inner_out, "reasoning_tokens"),
        total=_first(details, _TOTAL),
    )


def _read_flat(details: dict[str, Any], usage: Usage) -> None:
    """Buckets side by side, unless their total shows that the input holds them already."""
    plain_in, plain_out = _first(details, _INPUT), _first(details, _OUTPUT)
    read, write = _first(details, _READ), _first(details, _WRITE)
    reasoning, total = _first(details, _REASONING), _first(details, _TOTAL)
    overlap = total is not None and total == (plain_in or 0) + (plain_out or 0)
    whole_in, whole_out = plain_in, plain_out
    if not overlap and "prompt_tokens" not in details:
        known = (*_READ, *_WRITE, *_INPUT)
        extra = _extra(details, "input_", known)
        if plain_in is not None or extra:
            whole_in = (plain_in or 0) + extra + (read or 0) + (write or 0)
        extra = _extra(details, "output_", (*_REASONING, *_OUTPUT))
        if plain_out is not None or extra:
            whole_out = (plain_out or 0) + extra + (reasoning or 0)
    usage.replace(
        input=whole_in,
        output=whole_out,
        cache_read=read,
        cache_write=write,
        reasoning=reasoning,
        total=total,
    )


def unquote(text: str | None) -> str | None:
    """Metadata values are JSON: text stands in quotes."""
    if text and text[0] == '"':
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, str) and value else None
    return text


_METADATA = "langfuse.observation.metadata."


def _finish(reading: Reading, span: Span) -> None:
    if reading.text("langfuse.observation.level") == "ERROR":
        span.status = Status.ERROR
    agent = unquote(
        reading.text(_METADATA + "lc_agent_name", "langfuse.trace.metadata.lc_agent_name")
    )
    span.agent = span.agent or agent
    if agent and reading.name == agent and span.kind is Kind.OTHER:
        span.kind = Kind.AGENT
    if span.kind is Kind.AGENT and span.agent is None:
        span.agent = reading.name
    if span.kind is Kind.TOOL:
        span.tool = span.tool or reading.name
    span.call_id = unquote(span.call_id)
    span.provider = unquote(span.provider)
    span.conversation = unquote(span.conversation)
    span.session = unquote(span.session)


LANGFUSE = Dialect(
    name="langfuse",
    marks=("langfuse.observation.type",),
    extends=GENAI,
    kinds=(("langfuse.observation.type", _TYPES),),
    fields={
        "session": (
            "langfuse.session.id",
            "session.id",
            _METADATA + "langfuse_session_id",
            "langfuse.trace.metadata.langfuse_session_id",
        ),
        "conversation": (_METADATA + "thread_id", "langfuse.trace.metadata.thread_id"),
        "model": ("langfuse.observation.model.name",),
        "provider": (_METADATA + "ls_provider",),
        "call_id": (_METADATA + "tool_call_id",),
        "response_id": (_METADATA + "id",),
        "answered": (
            "langfuse.observation.output",
            "langfuse.observation.completion_start_time",
            "langfuse.observation.usage_details",
        ),
    },
    content={
        "prompt": ("langfuse.observation.input",),
        "response": ("langfuse.observation.output",),
        "arguments": ("langfuse.observation.input",),
        "result": ("langfuse.observation.output",),
    },
    read_usage=_read_usage,
    finish=_finish,
)
