"""How near to the wire an instrumentation scope sees a model call."""

from __future__ import annotations

__all__ = ["wire_of"]

FRAMEWORK, ROUTER, CLIENT = 2, 4, 6

_CLIENTS = frozenset(
    {
        "ai21",
        "aleph_alpha",
        "alephalpha",
        "anthropic",
        "azure_ai_inference",
        "bedrock",
        "botocore",
        "cohere",
        "deepseek",
        "fireworks",
        "genai",
        "google_genai",
        "google_generativeai",
        "groq",
        "huggingface",
        "instructor",
        "mistralai",
        "ollama",
        "openai",
        "openai_v2",
        "portkey",
        "replicate",
        "sagemaker",
        "together",
        "transformers",
        "v1",
        "vertexai",
        "vllm",
        "voyageai",
        "watsonx",
        "writer",
    }
)
_ROUTERS = frozenset({"litellm", "openrouter", "portkey"})


def wire_of(scope: str) -> int:
    """0 to 9 from the last word of a scope name: client SDKs are nearer than frameworks."""
    if scope.startswith("opentelemetry.util.genai"):
        return CLIENT  # the handler that client instrumentations share
    last = scope.rsplit(".", 1)[-1].replace("-", "_").lower()
    if last in _ROUTERS:
        return ROUTER
    return CLIENT if last in _CLIENTS else FRAMEWORK
