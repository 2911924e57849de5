"""Gives recorded spans the times of real work.

A recording against a local server lasts milliseconds. Per session one monotone map stretches it:
where a model or tool call runs, time passes as slowly as that call would take; elsewhere it
passes as recorded. A monotone map keeps nesting, order and overlap as they were.
"""

from __future__ import annotations

import bisect
import hashlib
import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.trace.v1.trace_pb2 import Span

SECOND = 1_000_000_000
READ_TOKENS_PER_SECOND = 9000
WRITE_TOKENS_PER_SECOND = 75
REFUSED_SECONDS = 0.8


@dataclass(slots=True)
class Recorded:
    """All spans of one session, of all its traces."""

    session: str
    spans: list[Span] = field(default_factory=list)


class Durations:
    """How long each call of one session takes, from the true figures."""

    def __init__(
        self, session: str, calls: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> None:
        self._session = session
        self._tools: dict[str, deque[float]] = defaultdict(deque)
        for tool in tools:
            self._tools[tool["tool"]].append(tool["seconds"])
        self._calls = {(c["input"], c["output"]): c for c in calls if "input" in c}

    def of(self, span: Span) -> float | None:
        """Seconds of a model or tool call; None for everything else. Ask once, in start order."""
        attributes = {pair.key: pair.value for pair in span.attributes}
        tool = tool_name(span, attributes)
        if tool is not None:
            waiting = self._tools[tool]
            return waiting.popleft() if waiting else None
        if is_model_call(attributes):
            return self._model_seconds(usage_of(attributes))
        return None

    def _model_seconds(self, usage: tuple[int, int] | None) -> float:
        call = self._calls.get(usage) if usage else None
        if call is None:
            return REFUSED_SECONDS
        fresh = call["input"] - call["cached"]
        seconds = 0.4 + fresh / READ_TOKENS_PER_SECOND + call["output"] / WRITE_TOKENS_PER_SECOND
        digest = hashlib.sha256(f"{self._session}:{usage}".encode()).digest()
        return seconds * (0.75 + digest[0] / 512)


def _text(attributes: dict[str, Any], key: str) -> str:
    return str(attributes[key].string_value) if key in attributes else ""


def tool_name(span: Span, attributes: dict[str, Any]) -> str | None:
    if _text(attributes, "openinference.span.kind") == "TOOL":
        return _text(attributes, "tool.name")
    if _text(attributes, "gen_ai.operation.name") == "execute_tool":
        return _text(attributes, "gen_ai.tool.name")
    if _text(attributes, "traceloop.span.kind") == "tool":
        return _text(attributes, "traceloop.entity.name")
    if _text(attributes, "langfuse.observation.type") == "tool":
        return span.name
    return None


def is_model_call(attributes: dict[str, Any]) -> bool:
    return (
        _text(attributes, "openinference.span.kind") == "LLM"
        or _text(attributes, "gen_ai.operation.name") == "chat"
        or _text(attributes, "langfuse.observation.type") == "generation"
    )


def usage_of(attributes: dict[str, Any]) -> tuple[int, int] | None:
    for given, written in (
        ("llm.token_count.prompt", "llm.token_count.completion"),
        ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ):
        if given in attributes:
            return attributes[given].int_value, attributes[written].int_value
    details = json.loads(_text(attributes, "langfuse.observation.usage_details") or "{}")
    return (details["prompt_tokens"], details["completion_tokens"]) if details else None


class Stretch:
    """The monotone map of one session, from recorded nanoseconds to nanoseconds of work."""

    def __init__(self, recorded: Recorded, durations: Durations, pauses: Iterable[float]) -> None:
        spans = sorted(recorded.spans, key=lambda span: span.start_time_unix_nano)
        parents = {span.parent_span_id for span in spans}
        self._works = []
        for span in spans:
            seconds = durations.of(span)
            if seconds is not None and span.span_id not in parents:
                start, end = span.start_time_unix_nano, span.end_time_unix_nano
                self._works.append((start, end, seconds * SECOND / max(end - start, 1)))
        self._roots = [
            (span.start_time_unix_nano, span.end_time_unix_nano)
            for span in spans
            if not span.parent_span_id
        ]
        self._pauses = list(pauses)[1:]
        self._points = sorted(
            {span.start_time_unix_nano for span in spans}
            | {span.end_time_unix_nano for span in spans}
        )
        self._mapped = self._walk()

    def _walk(self) -> list[int]:
        mapped, now = [0], 0
        for start, end in zip(self._points, self._points[1:], strict=False):
            now += self._length(start, end)
            mapped.append(now)
        return mapped

    def _length(self, start: int, end: int) -> int:
        rates = [rate for s, e, rate in self._works if s <= start and end <= e]
        if rates:
            return max(int((end - start) * max(rates)), 1)
        if any(s <= start and end <= e for s, e in self._roots):
            return end - start
        pause = self._pauses.pop(0) if self._pauses else 1.0
        return int(pause * SECOND)

    @property
    def length(self) -> int:
        return self._mapped[-1]

    def at(self, time: int) -> int:
        """The mapped time, counted from the session's begin."""
        index = max(bisect.bisect_right(self._points, time) - 1, 0)
        if index + 1 >= len(self._points):
            return self._mapped[-1]
        left, right = self._points[index], self._points[index + 1]
        share = (time - left) / (right - left)
        return self._mapped[index] + int((self._mapped[index + 1] - self._mapped[index]) * share)


def rewrite(span: Span, stretch: Stretch, begin: int) -> None:
    """Move one span, and the events inside it, to its new time."""
    for event in span.events:
        event.time_unix_nano = begin + stretch.at(event.time_unix_nano)
    span.start_time_unix_nano = begin + stretch.at(span.start_time_unix_nano)
    span.end_time_unix_nano = begin + stretch.at(span.end_time_unix_nano)
