"""Token usage of every producer becomes five disjoint parts; unknown stays unknown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.otlp import Row, traces

from whyflame.dialects import read_traces

if TYPE_CHECKING:
    from whyflame.model import Span

PARTS = ("input_uncached", "cache_read", "cache_write", "output_visible", "reasoning")


def read(scope: str, attributes: dict[str, Any], name: str = "call") -> Span:
    payload = traces(Row(scope, name, attributes))
    return read_traces(payload, tenant="", received_ns=1)[0]


def parts(scope: str, attributes: dict[str, Any], name: str = "call") -> tuple[int | None, ...]:
    span = read(scope, attributes, name)
    return tuple(getattr(span, part) for part in PARTS)


def chat(**usage: Any) -> dict[str, Any]:
    named = {f"gen_ai.usage.{key.replace('__', '.')}": value for key, value in usage.items()}
    return {"gen_ai.operation.name": "chat", **named}


def langfuse(**details: Any) -> dict[str, Any]:
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(details),
    }


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (chat(input_tokens=100, output_tokens=10), (100, None, None, 10, None)),
        (chat(prompt_tokens=100, completion_tokens=10), (100, None, None, 10, None)),
        (
            chat(input_tokens=100, prompt_tokens=100, output_tokens=10, completion_tokens=10),
            (100, None, None, 10, None),
        ),
        (
            chat(
                input_tokens=2000,
                output_tokens=20,
                cache_read__input_tokens=1500,
                cache_creation__input_tokens=300,
                reasoning__output_tokens=8,
            ),
            (200, 1500, 300, 12, 8),
        ),
        # More in the cache than in the input: the input leaves the cache out.
        (chat(input_tokens=12, output_tokens=4, cache_read_tokens=1000), (12, 1000, None, 4, None)),
        # A total that only holds when the cache lies outside.
        (
            chat(
                input_tokens=5000,
                output_tokens=100,
                cache_read__input_tokens=1000,
                total_tokens=6100,
            ),
            (5000, 1000, None, 100, None),
        ),
        (chat(details__text_prompt_tokens=900, input_tokens=900), (900, None, None, None, None)),
        (chat(input_tokens=-1, output_tokens="NaN"), (None, None, None, None, None)),
        ({"gen_ai.operation.name": "chat"}, (None, None, None, None, None)),
        (chat(input_tokens=0, output_tokens=0), (0, None, None, 0, None)),
    ],
)
def test_convention(attributes: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    """Every generation of names, with the guards for a cache outside the input."""
    assert parts("x", attributes) == expected


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (
            {"input": 79, "output": 9, "input_cache_read": 1024, "output_reasoning": 1},
            (79, 1024, None, 9, 1),
        ),
        (
            {
                "input": 79,
                "output": 41,
                "cache_creation_input_tokens": 1024,
                "cache_read_input_tokens": 0,
                "cache_creation_ephemeral_5m_input_tokens": 1024,
                "cache_creation_ephemeral_1h_input_tokens": 0,
            },
            (79, 0, 1024, 41, None),
        ),
        (
            {
                "input": 79,
                "output": 41,
                "total": 1144,
                "input_cache_creation": 1024,
                "input_cache_read": 0,
            },
            (79, 0, 1024, 41, None),
        ),
        (
            {
                "prompt_tokens": 1103,
                "completion_tokens": 41,
                "total_tokens": 1144,
                "prompt_tokens_details": {"cached_tokens": 1000},
                "completion_tokens_details": {"reasoning_tokens": 11},
            },
            (103, 1000, None, 30, 11),
        ),
        (
            {
                "input_tokens": 701,
                "output_tokens": 97,
                "total_tokens": 798,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 64},
            },
            (701, 0, None, 33, 64),
        ),
        # Flat buckets should be disjoint; here the total shows that they are not.
        (
            {"input": 17903, "input_cached_tokens": 17817, "output": 100, "total": 18003},
            (86, 17817, None, 100, None),
        ),
        ({"input": 100, "input_audio": 20, "output": 10}, (120, None, None, 10, None)),
    ],
)
def test_langfuse_shapes(details: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    """One attribute, five shapes."""
    assert parts("langfuse-sdk", langfuse(**details)) == expected


def test_langsmith_metadata_survives_hidden_outputs() -> None:
    """The JSON metadata holds the parts; a cache write told twice counts once, the larger."""
    metadata = {
        "input_tokens": 1000,
        "output_tokens": 10,
        "input_token_details": {"cache_creation": 0, "ephemeral_5m_input_tokens": 951},
    }
    attributes = {
        "langsmith.span.kind": "llm",
        "langsmith.metadata.usage_metadata": json.dumps(metadata),
    }
    assert parts("langsmith", attributes) == (49, None, 951, 10, None)
    spread = {
        "langsmith.span.kind": "llm",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.input_token_details": "{'audio': 0, 'cache_read': 400}",
    }
    assert parts("langsmith", spread) == (600, 400, None, None, None)


def test_exclusive_producers() -> None:
    """Claude Code and Bedrock report the input without the cache, by table, whatever its size."""
    claude = {
        "span.type": "llm_request",
        "input_tokens": 936,
        "output_tokens": 100,
        "cache_read_tokens": 64,
        "cache_creation_tokens": 0,
    }
    assert parts("com.anthropic.claude_code.tracing", claude) == (936, 64, 0, 100, None)
    bedrock = chat(input_tokens=3000, output_tokens=20, cache_read__input_tokens=400)
    for scope in (
        "opentelemetry.instrumentation.bedrock",
        "opentelemetry.instrumentation.botocore.bedrock-runtime",
        "@traceloop/instrumentation-anthropic",
    ):
        assert parts(scope, bedrock) == (3000, 400, None, 20, None), scope


def test_ai_sdk_before_and_after_version_6() -> None:
    """With token details the input holds the cache; without them, Claude's does not."""
    call = {"ai.operationId": "ai.generateText.doGenerate", "ai.usage.outputTokens": 10}
    new = {
        **call,
        "ai.usage.inputTokens": 2224,
        "ai.usage.cachedInputTokens": 2048,
        "ai.usage.inputTokenDetails.noCacheTokens": 176,
    }
    old = {
        **call,
        "ai.model.provider": "anthropic.messages",
        "ai.usage.inputTokens": 3000,
        "ai.usage.cachedInputTokens": 1000,
        "ai.response.providerMetadata": json.dumps({"anthropic": {"cacheCreationInputTokens": 7}}),
    }
    fourth = {
        **call,
        "ai.model.provider": "openai.chat",
        "ai.usage.promptTokens": 1000,
        "ai.response.providerMetadata": json.dumps(
            {"openai": {"cachedPromptTokens": 200, "reasoningTokens": 4}}
        ),
    }
    assert parts("ai", fourth) == (800, 200, None, 6, 4)
    assert parts("ai", new) == (176, 2048, None, 10, None)
    assert parts("ai", old) == (3000, 1000, 7, 10, None)


def test_older_adk_keeps_thoughts_in_json() -> None:
    """Thoughts lie outside the candidates' count and only in the response's JSON."""
    response = {
        "usage_metadata": {
            "prompt_token_count": 100,
            "candidates_token_count": 20,
            "thoughts_token_count": 30,
            "cached_content_token_count": 40,
        }
    }
    attributes = {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gcp.vertex.agent.llm_response": json.dumps(response),
    }
    assert parts("gcp.vertex.agent", attributes, "call_llm") == (60, 40, None, 20, 30)
    response["usage_metadata"]["total_token_count"] = 150
    attributes["gen_ai.usage.output_tokens"] = 150  # the first versions wrote the total there
    attributes["gcp.vertex.agent.llm_response"] = json.dumps(response)
    assert parts("gcp.vertex.agent", attributes, "call_llm") == (60, 40, None, 20, 30)


def test_thoughts_that_only_the_total_holds() -> None:
    """Gemini's total holds thoughts beside the output; of others a total says nothing new."""
    call = chat(input_tokens=100, output_tokens=20, total_tokens=150)
    thoughts = (100, None, None, 20, 30)
    assert parts("opentelemetry.instrumentation.google_generativeai", call) == thoughts
    assert parts("opentelemetry.instrumentation.vertexai", call) == thoughts
    assert parts("opentelemetry.instrumentation.cohere", call) == (100, None, None, 20, None)
    figures = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 150}
    mlflow = {"mlflow.spanType": '"LLM"', "mlflow.chat.tokenUsage": json.dumps(figures)}
    assert parts("x", {**mlflow, "mlflow.message.format": '"gemini"'}) == thoughts
    assert parts("x", {**mlflow, "mlflow.message.format": '"openai"'})[4] is None
    openlit = chat(input_tokens=100, output_tokens=20, reasoning_tokens=30)
    openlit["gen_ai.client.token.usage"] = 150
    assert parts("openlit.otel.tracing", openlit) == thoughts


def test_what_an_api_answered_is_read_whole() -> None:
    """OpenAI's input holds the cache, Anthropic's does not; plain attributes win where given."""
    openai = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    claude = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 9,
    }
    model = {"request_data": json.dumps({"model": "m"})}
    raw = {**model, **chat(input_tokens=100, output_tokens=20, raw=json.dumps(openai))}
    assert parts("logfire.openai", raw) == (60, 40, None, 15, 5)
    old = {**model, "response_data": json.dumps({"usage": claude})}
    assert parts("logfire.anthropic", old) == (100, 40, 9, 20, None)
    summed = {**model, **chat(input_tokens=149, output_tokens=20, raw=json.dumps(claude))}
    assert parts("logfire.anthropic", summed) == (100, 40, 9, 20, None)


def test_a_total_alone_is_kept_apart() -> None:
    """A total that cannot be taken apart is neither input nor output, but not silence either."""
    span = read("x", chat(total_tokens=55))
    assert not span.has_usage
    assert span.extra["unsplit_total"] == "55"


def test_agents_only_claim() -> None:
    """What an agent span reports is kept apart from the measures."""
    span = read("x", {**chat(input_tokens=300), "gen_ai.operation.name": "invoke_agent"})
    assert not span.has_usage
    assert span.claimed_input == 300


def test_cost_needs_a_total_in_dollars() -> None:
    """Details of a cost, and a token count in a cost key, are not a cost."""
    call = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 100}
    assert read("x", {**call, "llm.cost.completion_details.output": 151.0}).cost_nanousd is None
    assert read("x", {**call, "llm.cost.total": 0.01}).cost_nanousd == 10_000_000


def test_unbelievable_values_say_why() -> None:
    """The span is kept, the measure is unknown, the reason is counted."""
    span = read("x", chat(input_tokens=10**18, output_tokens=True))
    assert span.dubious == ("number_too_large", "number_boolean")
    assert not span.has_usage
