"""The segmenter's own model calls as spans of service `whyflame`: figures, never a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.identity import stable_id
from whyflame.journal.otlp_spans import NewSpan, Value, spans_request
from whyflame.segment.segmenter import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.segment.lane import Lane
    from whyflame.segment.llm.budget import LlmCall

__all__ = ["AGENT", "OWN_SERVICE", "OwnWork", "request_of"]

OWN_SERVICE = "whyflame"
AGENT = "segmenter"
SCOPE = "whyflame.segment"
_TASK = "find session tasks"


class OwnWork:
    """Segments what the segmenter itself did: one task, known without looking."""

    name = "own"

    def segment(self, lane: Lane) -> list[Mark]:
        """The same task for every step."""
        return [Mark(0, (_TASK,))] if lane.steps else []


def request_of(tenant: str, calls: Sequence[LlmCall]) -> bytes:
    """One OTLP request: what a pass asked a model, as one agent run.

    Ids depend on the calls alone, so that handing them over twice adds nothing.

    Args:
        tenant: Whose sessions were segmented. calls: At least one.
    """
    first = min(calls, key=lambda call: (call.start_ns, call.key))
    trace_id = stable_id(16, b"own", tenant.encode(), _identity(first))
    root_id = stable_id(8, trace_id, b"root")
    session = f"segment-{trace_id.hex()}"
    root = NewSpan(
        trace_id,
        root_id,
        b"",
        f"invoke_agent {AGENT}",
        first.start_ns,
        max(call.end_ns for call in calls),
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "session.id": session,
        },
    )
    spans = [_span_of(call, trace_id, root_id, session) for call in calls]
    return spans_request({"service.name": OWN_SERVICE}, SCOPE, [root, *spans])


def _span_of(call: LlmCall, trace_id: bytes, root_id: bytes, session: str) -> NewSpan:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider or None,
        "gen_ai.request.model": call.request_model,
        "gen_ai.response.model": call.model,
        "gen_ai.response.id": call.response_id,
        "gen_ai.usage.input_tokens": call.input_tokens,
        "gen_ai.usage.output_tokens": call.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": call.reasoning_tokens,
        "error.type": call.error,
        "session.id": session,
    }
    return NewSpan(
        trace_id,
        stable_id(8, trace_id, _identity(call)),
        root_id,
        f"chat {call.request_model}",
        call.start_ns,
        call.end_ns,
        attributes,
        failed=call.failed,
        is_client=True,
    )


def _identity(call: LlmCall) -> bytes:
    return f"{call.start_ns} {call.end_ns} {call.key}".encode()
