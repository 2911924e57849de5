"""traceAI (Future AGI): OpenInference's shape in the words of the GenAI conventions."""

from __future__ import annotations

from dataclasses import replace

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.openinference import OPENINFERENCE, OPENINFERENCE_MESSAGES, SPAN_KINDS

__all__ = ["TRACEAI"]


TRACEAI = Dialect(
    name="traceai",
    scopes=("traceai_*", "traceAI*", "fi_instrumentation*"),
    marks=("fi.span.kind",),
    extends=OPENINFERENCE,
    kinds=(("gen_ai.span.kind", SPAN_KINDS), ("fi.span.kind", SPAN_KINDS)),
    fields={"answered": ("gen_ai.output.messages.0.message.role",)},
    usage={
        "cache_read": ("gen_ai.usage.input_tokens.cache_read",),
        "cache_write": ("gen_ai.usage.input_tokens.cache_write",),
        "reasoning": ("gen_ai.usage.output_tokens.reasoning",),
    },
    messages=replace(
        OPENINFERENCE_MESSAGES, prompt="gen_ai.input.messages.", response="gen_ai.output.messages."
    ),
)
