"""LiteLLM's own OpenTelemetry callback, both generations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig, parse_literal
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage

__all__ = ["LITELLM"]

_FUNCTIONS = {
    "completion": Kind.LLM,
    "text_completion": Kind.LLM,
    "responses": Kind.LLM,
    "anthropic_messages": Kind.LLM,
    "generate_content": Kind.LLM,
    "completion_with_retries": Kind.LLM,
    "embedding": Kind.EMBED,
    "image_generation": Kind.OTHER,
    "transcription": Kind.OTHER,
    "speech": Kind.OTHER,
    "moderation": Kind.OTHER,
    "rerank": Kind.OTHER,
}
_ANY_FUNCTION = {
    **_FUNCTIONS,
    **{f"a{name}": kind for name, kind in _FUNCTIONS.items()},
    "pass_through_endpoint": Kind.LLM,
    "allm_passthrough_route": Kind.LLM,
}
_NAMES = {
    "raw_gen_ai_request": Kind.OTHER,  # repeats its parent's figures as a Python literal
    "Received Proxy Server Request": Kind.OTHER,
}


def _read_usage(reading: Reading, usage: Usage) -> None:
    """Parts stand only in a Python literal, already brought to OpenAI's inclusive meaning."""
    figures = parse_literal(reading.value("metadata.usage_object"))
    if not isinstance(figures, dict):
        return
    inner, outer = figures.get("prompt_tokens_details"), figures.get("completion_tokens_details")
    usage.take("input", reading.value("gen_ai.usage.input_tokens"))
    usage.take("output", reading.value("gen_ai.usage.output_tokens"))
    usage.take("cache_read", figures.get("cache_read_input_tokens"))
    usage.take("cache_read", dig(inner, "cached_tokens"))
    usage.take("cache_write", figures.get("cache_creation_input_tokens"))
    usage.take("cache_write", dig(inner, "cache_creation_tokens"))
    usage.take("reasoning", dig(outer, "reasoning_tokens"))


LITELLM = Dialect(
    name="litellm",
    scopes=("litellm",),
    extends=GENAI,
    kinds=(
        ("", _NAMES),
        ("gen_ai.operation.name", _ANY_FUNCTION),
        ("llm.request.type", _ANY_FUNCTION),
        ("", {"litellm_request": Kind.LLM}),
    ),
    fields={"user": ("metadata.user_api_key_end_user_id", "metadata.user_api_key_user_id")},
    usage={"cost": ("litellm.cost.total", "gen_ai.cost.total_cost")},
    wire=4,
    read_usage=_read_usage,
)
