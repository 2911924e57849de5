"""Google ADK: its own spans; older versions keep figures only in a JSON attribute."""

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

__all__ = ["GOOGLE_ADK"]

_RESPONSE = "gcp.vertex.agent.llm_response"
_OUTPUT = "gen_ai.usage.output_tokens"
_NO_CALL_ID = "<not specified>"
_TOOL = "execute_tool "
_MERGED = ("(merged tools)", "(merged)")


def _read_usage(reading: Reading, usage: Usage) -> None:
    """Thoughts and cached tokens of versions that only put the response's JSON on the span."""
    metadata = dig(reading.json(_RESPONSE), "usage_metadata")
    if not isinstance(metadata, dict):
        return
    thoughts = metadata.get("thoughts_token_count")
    candidates = metadata.get("candidates_token_count")
    usage.take("cache_read", metadata.get("cached_content_token_count"))
    usage.take("input", reading.value("gen_ai.usage.input_tokens"))
    if reading.value(_OUTPUT) != metadata.get("total_token_count"):  # versions before 1.10
        usage.take("output", reading.value(_OUTPUT))
    usage.take("input", metadata.get("prompt_token_count"))
    usage.take("output", candidates)
    if not reading.has("gen_ai.usage.reasoning.output_tokens"):
        usage.take("reasoning", thoughts)
        usage.reasoning_outside = usage.output is not None and usage.output == candidates


def _finish(reading: Reading, span: Span) -> None:
    if span.kind is Kind.OTHER and reading.name.startswith(_TOOL):
        span.kind, span.tool = Kind.TOOL, reading.name.removeprefix(_TOOL)  # one that raised
    if span.kind is Kind.TOOL and (span.tool in _MERGED or reading.name.endswith("(merged)")):
        span.kind = Kind.OTHER  # follows parallel calls, runs nothing
    if span.kind is Kind.OTHER and reading.name.startswith("agent_run ["):
        span.kind, span.agent = Kind.AGENT, reading.name[len("agent_run [") : -1]
    if span.call_id == _NO_CALL_ID:
        span.call_id = None
    if span.kind is Kind.LLM and reading.has(_RESPONSE):
        span.answered = True


GOOGLE_ADK = Dialect(
    name="google_adk",
    scopes=("gcp.vertex.agent",),
    extends=GENAI,
    kinds=(("", {"call_llm": Kind.LLM, "invocation": Kind.AGENT}),),
    fields={
        "conversation": ("gen_ai.conversation.id", "gcp.vertex.agent.session_id"),
    },
    content={
        "prompt": ("gen_ai.input.messages", "gcp.vertex.agent.llm_request"),
        "response": ("gen_ai.output.messages", _RESPONSE),
        "arguments": ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args"),
        "result": ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response"),
    },
    read_usage=_read_usage,
    finish=_finish,
)
