"""Vercel AI SDK: versions 4 to 6 and 7's legacy spans under scope `ai`, 7's new ones under `gen_ai`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["AI_SDK", "AI_SDK_7"]

_OPERATIONS = {
    "ai.generateText": Kind.AGENT,
    "ai.streamText": Kind.AGENT,
    "ai.generateObject": Kind.AGENT,
    "ai.streamObject": Kind.AGENT,
    "ai.generateText.doGenerate": Kind.LLM,
    "ai.streamText.doStream": Kind.LLM,
    "ai.generateObject.doGenerate": Kind.LLM,
    "ai.streamObject.doStream": Kind.LLM,
    "ai.embed": Kind.OTHER,
    "ai.embedMany": Kind.OTHER,
    "ai.embed.doEmbed": Kind.EMBED,
    "ai.embedMany.doEmbed": Kind.EMBED,
    "ai.toolCall": Kind.TOOL,
}

_USAGE = {
    "input": ("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
    "output": ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    "cache_read": (
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "ai.usage.cachedInputTokens",
    ),
    "cache_write": ("ai.usage.inputTokenDetails.cacheWriteTokens",),
    "reasoning": (
        "ai.usage.outputTokenDetails.reasoningTokens",
        "ai.usage.reasoningTokens",
    ),
    "total": ("ai.usage.totalTokens",),
}
_SPLIT = (
    "ai.usage.inputTokenDetails.noCacheTokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
)
_METADATA = (
    ("cache_read", "openai", "cachedPromptTokens"),
    ("cache_read", "anthropic", "cacheReadInputTokens"),
    ("cache_read", "anthropic", "usage", "cache_read_input_tokens"),
    ("cache_read", "bedrock", "usage", "cacheReadInputTokens"),
    ("cache_read", "google", "usageMetadata", "cachedContentTokenCount"),
    ("cache_write", "anthropic", "cacheCreationInputTokens"),
    ("cache_write", "anthropic", "usage", "cache_creation_input_tokens"),
    ("cache_write", "bedrock", "usage", "cacheWriteInputTokens"),
    ("reasoning", "openai", "reasoningTokens"),
    ("reasoning", "google", "usageMetadata", "thoughtsTokenCount"),
)
"""What versions 4 and 5 say of a call only in the provider's own words: part, path."""
_EXCLUSIVE_PROVIDERS = ("anthropic", "amazon-bedrock", "bedrock", "vertex.anthropic")


def _read_usage(reading: Reading, usage: Usage) -> None:
    """Before version 6 the input of Claude models left the cache out, and had no details."""
    if any(reading.has(key) for key in _SPLIT):
        return
    provider = reading.text("ai.model.provider", "gen_ai.system", "gen_ai.provider.name") or ""
    usage.cache_outside = provider.startswith(_EXCLUSIVE_PROVIDERS)
    metadata = reading.json("ai.response.providerMetadata")
    for part, *path in _METADATA:
        usage.take(part, dig(metadata, *path))


def _finish(reading: Reading, span: Span) -> None:
    if span.kind is Kind.AGENT and span.agent is None:
        span.agent = reading.text("ai.telemetry.functionId", "resource.name")


AI_SDK = Dialect(
    name="ai_sdk",
    scopes=("ai",),
    marks=("ai.operationId",),
    extends=GENAI,
    kinds=(("ai.operationId", _OPERATIONS),),
    fields={
        "agent": ("ai.telemetry.functionId",),
        "model": ("ai.response.model", "gen_ai.response.model", "ai.model.id"),
        "request_model": ("ai.model.id", "gen_ai.request.model"),
        "provider": ("ai.model.provider",),
        "tool": ("ai.toolCall.name",),
        "call_id": ("ai.toolCall.id",),
        "response_id": ("ai.response.id",),
        "answered": (
            "ai.response.finishReason",
            "ai.response.text",
            "ai.response.object",
            "ai.response.id",
        ),
    },
    usage=_USAGE,
    content={
        "prompt": ("ai.prompt.messages", "ai.prompt"),
        "response": ("ai.response.text", "ai.response.toolCalls", "ai.response.object"),
        "arguments": ("ai.toolCall.args",),
        "result": ("ai.toolCall.result",),
    },
    read_usage=_read_usage,
    finish=_finish,
)

AI_SDK_7 = Dialect(
    name="ai_sdk",
    scopes=("gen_ai",),
    extends=GENAI,
    usage=_USAGE,
    finish=_finish,
)
