"""Spellings of providers and models made one."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["normal_model", "normal_provider"]

_PROVIDERS = {
    "gemini": "google",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "vertex_ai": "google",
    "google_genai": "google",
    "google.generative-ai": "google",
    "aws.bedrock": "bedrock",
    "aws_bedrock": "bedrock",
    "azure.ai.openai": "azure",
    "azure.openai": "azure",
    "az.ai.openai": "azure",
    "az.ai.inference": "azure",
    "mistralai": "mistral",
    "mistral_ai": "mistral",
    "xai": "x_ai",
    "openai.chat": "openai",
    "openai.responses": "openai",
    "openai.completion": "openai",
    "openai.embedding": "openai",
    "anthropic.messages": "anthropic",
}
_NO_PROVIDERS = frozenset(
    {
        "langchain",
        "langgraph",
        "autogen",
        "strands-agents",
        "microsoft.agent_framework",
        "agent_framework",
        "crewai",
        "llamaindex",
        "llama_index",
        "semantic_kernel",
        "gcp.vertex.agent",
        "mcp",
        "_other",
    }
)
_PREFIXES = frozenset(
    {
        "openai",
        "anthropic",
        "gemini",
        "google",
        "vertex_ai",
        "bedrock",
        "azure",
        "mistral",
        "groq",
        "cohere",
        "ollama",
        "openrouter",
        "litellm_proxy",
        "together_ai",
        "fireworks_ai",
        "deepseek",
        "xai",
        "models",
    }
)


@lru_cache(maxsize=4096)
def normal_provider(name: str | None) -> str | None:
    """Lower case, one spelling a vendor; None for frameworks that name themselves."""
    if not name:
        return None
    lower = name.strip().lower()
    if lower in _NO_PROVIDERS:
        return None
    return _PROVIDERS.get(lower, lower)


@lru_cache(maxsize=4096)
def normal_model(name: str | None) -> str | None:
    """Without a router's prefix ("openai/gpt-5-mini" -> "gpt-5-mini")."""
    if not name or "/" not in name:
        return name
    head, _, rest = name.partition("/")
    return normal_model(rest) if head.lower() in _PREFIXES and rest else name
