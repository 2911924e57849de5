"""Haystack's own tracer: no GenAI names; figures only in the JSON of what a component returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.api_usage import take_api_usage
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.dialects.literals import dig
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Span

__all__ = ["HAYSTACK"]

_NAMES = {
    "haystack.agent.run": Kind.AGENT,
    "haystack.agent.step": Kind.OTHER,
    "haystack.agent.step.llm": Kind.LLM,
    "haystack.agent.step.tool": Kind.TOOL,
    "haystack.pipeline.run": Kind.OTHER,
    "haystack.async_pipeline.run": Kind.OTHER,
}
_OUTPUTS = ("haystack.agent.step.llm.output", "haystack.component.output")


def _meta(reading: Reading) -> dict[str, Any]:
    """`meta` of the first reply, or of an embedder's result."""
    for key in _OUTPUTS:
        output = reading.json(key)
        for path in (("replies", 0, "meta"), ("replies", 0, "_meta"), ("meta", 0), ("meta",)):
            meta = dig(output, *path)
            if isinstance(meta, dict):
                return meta
    return {}


def _read_usage(reading: Reading, usage: Usage) -> None:
    figures = _meta(reading).get("usage")
    if isinstance(figures, dict):
        take_api_usage(figures, usage)


def _finish(reading: Reading, span: Span) -> None:
    component = reading.text("haystack.component.type") or ""
    if reading.name == "haystack.component.run":
        if component.endswith("Generator"):
            span.kind = Kind.LLM
        elif component.endswith("Embedder"):
            span.kind = Kind.EMBED
    if span.kind in (Kind.LLM, Kind.EMBED):
        span.answered = True  # the span is written around a finished call
        model = _meta(reading).get("model")
        span.model = span.model or (model if isinstance(model, str) else None)
    if span.kind is Kind.AGENT:
        span.agent = span.agent or reading.text("haystack.component.name") or "agent"
    if reading.flag("haystack.tool.error"):
        span.status = Status.ERROR


HAYSTACK = Dialect(
    name="haystack",
    scopes=("haystack",),
    marks=("haystack.*",),
    extends=GENAI,
    kinds=(("", _NAMES),),
    fields={"tool": ("haystack.tool.name",)},
    content={
        "prompt": ("haystack.agent.step.llm.input", "haystack.agent.input"),
        "response": ("haystack.agent.step.llm.output", "haystack.agent.output"),
        "arguments": ("haystack.agent.step.tool.input",),
        "result": ("haystack.agent.step.tool.output",),
    },
    read_usage=_read_usage,
    finish=_finish,
)
