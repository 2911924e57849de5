"""OpenLIT: the GenAI conventions, with words of its own for operations and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["OPENLIT"]


_WORDS = {
    "chat": Kind.LLM,
    "text_completion": Kind.LLM,
    "model_request": Kind.LLM,
    "embeddings": Kind.EMBED,
    "tool": Kind.TOOL,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
}


def _finish(reading: Reading, span: Span) -> None:
    """Callbacks call an operation "tool NAME"; what failed has a name and nothing else."""
    word, _, rest = reading.name.partition(" ")
    if span.kind is Kind.OTHER:
        span.kind = _WORDS.get(word, Kind.OTHER)
    if span.kind is Kind.TOOL:
        span.tool = span.tool or rest or None
    if span.kind is Kind.AGENT:
        span.agent = span.agent or rest or None
    if span.kind in (Kind.LLM, Kind.EMBED):
        span.model = span.model or rest or None
        span.tool = span.call_id = None  # the tools that a response asks for


OPENLIT = Dialect(
    name="openlit",
    scopes=("openlit*",),
    extends=GENAI,
    fields={"error_type": ("gen_ai.framework.error.type",)},
    usage={
        "cache_read": ("gen_ai.usage.prompt_tokens_details.cache_read",),
        "cache_write": ("gen_ai.usage.prompt_tokens_details.cache_write",),
        "reasoning": ("gen_ai.usage.completion_tokens_details.reasoning",),
        "total": ("gen_ai.client.token.usage",),
    },
    content={"arguments": ("gen_ai.tool.args",)},
    finish=_finish,
)
