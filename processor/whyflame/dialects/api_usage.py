"""Usage objects as model APIs answer them, which several producers copy whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.literals import dig

if TYPE_CHECKING:
    from whyflame.dialects.usage import Usage

__all__ = ["take_api_usage"]

_CACHE = {"cache_read_input_tokens", "cache_creation_input_tokens"}


def take_api_usage(figures: dict[str, Any], usage: Usage) -> None:
    """What is still unknown, from the object of OpenAI's chat or responses API, or Anthropic's."""
    inner = figures.get("prompt_tokens_details") or figures.get("input_tokens_details")
    outer = figures.get("completion_tokens_details") or figures.get("output_tokens_details")
    usage.take("input", figures.get("prompt_tokens", figures.get("input_tokens")))
    usage.take("output", figures.get("completion_tokens", figures.get("output_tokens")))
    usage.take("cache_read", dig(inner, "cached_tokens"))
    usage.take("cache_read", figures.get("cache_read_input_tokens"))
    usage.take("cache_write", figures.get("cache_creation_input_tokens"))
    usage.take("reasoning", dig(outer, "reasoning_tokens"))
    usage.take("total", figures.get("total_tokens"))
    if usage.input is not None and "total_tokens" not in figures and _CACHE & figures.keys():
        # Anthropic's own object: its input leaves the cache out, and it never has a total.
        usage.cache_outside = usage.input == figures.get("input_tokens")
