"""What a coding agent's session file tells, as records, and the spans these become.

One trace a user request, so that a session resumed days later has several runs. Ids are made from
the producer's own ids: reading a file again, or after it grew, adds only what is new. What is not
finished yet is a span without an end, which the finished one supersedes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.dialects.identity import stable_id
from whyflame.journal.otlp_spans import NewSpan, Value, spans_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Call", "History", "ToolCall", "Turn", "Usage", "requests_of"]

MOST_SPANS = 500
MOST_TEXT = 64_000


@dataclass(slots=True)
class Usage:
    """Token counts; the input with what was cached, the output with reasoning; None: not told."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


@dataclass(slots=True)
class Call:
    """One model call.

    Attributes:
        id: The producer's own; unique in the session.
        start_ns: When it was asked, as far as the file tells. end_ns: Newest sign of it.
        open: It may go on.
        asked: Ids of the tool calls it asked for.
        text: What it said, else thought.
        error: Class of the failure; None when it answered.
    """

    id: str
    start_ns: int
    end_ns: int = 0
    open: bool = True
    model: str | None = None
    response_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    text: str = ""
    asked: list[str] = field(default_factory=list)
    skill: str | None = None
    error: str | None = None


@dataclass(slots=True)
class ToolCall:
    """One tool call; open while its result is awaited.

    Attributes:
        started: Ids of turns it started that have traces of their own: a sub-agent's that runs on.
    """

    id: str
    name: str
    start_ns: int
    end_ns: int = 0
    open: bool = True
    arguments: str = ""
    result: str | None = None
    skill: str | None = None
    failed: bool = False
    started: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """A request and the work for it: of the user, or of a tool call that started a sub-agent.

    Attributes:
        id: The producer's own id of the request. agent: Who works.
        prompt: The request. start_ns, end_ns, open: As above.
        started_by: The turn and tool call that started this sub-agent; None for the user's.
    """

    id: str
    agent: str
    prompt: str
    start_ns: int
    end_ns: int = 0
    open: bool = True
    calls: list[Call] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)
    started_by: tuple[Turn, ToolCall | None] | None = None


@dataclass(slots=True)
class History:
    """One session.

    Attributes:
        producer: Whose file it is: `claude-code`, `codex`, `gemini-cli`.
        session: Its id. provider: Who serves the models; None when not known.
        thread: The sub-agent's own conversation, where this is one of a session.
        project: Last part of the folder worked in. version: Of the producer.
    """

    producer: str
    session: str
    provider: str | None = None
    project: str | None = None
    version: str | None = None
    thread: str | None = None
    turns: list[Turn] = field(default_factory=list)


def requests_of(history: History) -> Iterator[bytes]:
    """OTLP requests with all that a session holds."""
    resource: dict[str, Value] = {
        "service.name": history.producer,
        "service.version": history.version,
        "project": history.project,
    }
    scope = f"whyflame.history.{history.producer}"
    spans: list[NewSpan] = []
    for turn in history.turns:
        spans += _spans_of(history, turn)
        while len(spans) >= MOST_SPANS:
            yield spans_request(resource, scope, spans[:MOST_SPANS])
            del spans[:MOST_SPANS]
    if spans:
        yield spans_request(resource, scope, spans)


def _trace_id(history: History, turn: Turn) -> bytes:
    while turn.started_by is not None:
        turn = turn.started_by[0]
    return _id(16, history, "trace", turn.id)


def _ids_of_root(history: History, turn_id: str) -> tuple[bytes, bytes]:
    """(trace id, span id) of a turn's agent span, told by the turn's id alone."""
    return _id(16, history, "trace", turn_id), _id(8, history, "turn", turn_id)


def _id(size: int, history: History, *parts: str) -> bytes:
    return stable_id(
        size, history.producer.encode(), *(part.encode("utf-8", "replace") for part in parts)
    )


def _spans_of(history: History, turn: Turn) -> Iterable[NewSpan]:
    trace_id, root_id = _trace_id(history, turn), _id(8, history, "turn", turn.id)
    starter = turn.started_by[1] if turn.started_by is not None else None
    parent = _id(8, history, "tool", starter.id) if starter is not None else b""
    common: dict[str, Value] = {
        "session.id": history.session,
        "gen_ai.conversation.id": history.thread,
        "gen_ai.agent.name": turn.agent,
    }
    asked = _messages("user", turn.prompt) if turn.prompt else None
    yield NewSpan(
        trace_id, root_id, parent, f"invoke_agent {turn.agent}", turn.start_ns, _end(turn),
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": asked, **common},
    )  # fmt: skip
    for call in turn.calls:
        yield NewSpan(
            trace_id, _id(8, history, "call", call.id), root_id, f"chat {call.model or ''}".strip(),
            call.start_ns, _end(call), _call_attributes(history, call, asked) | common,
            failed=call.error is not None, is_client=True,
        )  # fmt: skip
    for tool in turn.tools:
        yield NewSpan(
            trace_id, _id(8, history, "tool", tool.id), root_id, f"execute_tool {tool.name}",
            tool.start_ns, _end(tool), _tool_attributes(tool) | common, failed=tool.failed,
            links=tuple(_ids_of_root(history, started) for started in tool.started),
        )  # fmt: skip


def _end(record: Call | ToolCall | Turn) -> int:
    """The end of what is over; 0 marks a span that another one may supersede."""
    return 0 if record.open else max(record.end_ns, record.start_ns)


def _call_attributes(history: History, call: Call, asked: str | None) -> dict[str, Value]:
    usage = call.usage
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": history.provider,
        "gen_ai.request.model": call.model,
        "gen_ai.response.model": call.model,
        "gen_ai.response.id": call.response_id,
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        "gen_ai.usage.cost": call.cost,
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": _messages("assistant", call.text, call.asked),
        "gen_ai.skill.name": call.skill,
        "error.type": call.error,
    }


def _tool_attributes(tool: ToolCall) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": tool.id,
        "gen_ai.tool.call.arguments": tool.arguments[:MOST_TEXT] or None,
        "gen_ai.tool.call.result": tool.result[:MOST_TEXT] if tool.result else None,
        "gen_ai.skill.name": tool.skill,
        "error.type": "tool_error" if tool.failed else None,
    }


def _messages(role: str, text: str, asked: Iterable[str] = ()) -> str:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text[:MOST_TEXT]}] if text else []
    parts += [{"type": "tool_call", "id": call} for call in asked]
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)
