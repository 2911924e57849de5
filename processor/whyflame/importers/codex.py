"""Codex CLI's session files: `rollout-*.jsonl`, lines of {timestamp, type, payload}.

A `token_count` event ends a model call; what the model said and asked for since the one before
belongs to it. Counts are differences of the running totals, so that an event told twice adds
nothing; what was read from the cache is part of the input, reasoning part of the output. A thread
that a sub-agent or a fork began repeats its parent's lines first: they are passed over. A sub-agent
works on beside its parent, in a file of its own; the call that started it tells its thread.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.importers.history import Call, History, ToolCall, Turn, Usage
from whyflame.importers.lines import as_count, as_text, is_one_of, last_part, read_lines, time_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_codex", "read_codex"]

AGENT = "codex"
_TYPES = frozenset({"session_meta", "turn_context", "event_msg", "response_item", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_SPAWN = "spawn_agent"
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_HOST_TEXTS = (
    "<environment_context", "<recommended_plugins", "<app-context", "<skills_instructions",
    "<permissions instructions", "<collaboration_mode", "<subagent_notification",
    "<user_instructions", "# AGENTS.md instructions", "<turn_aborted",
)  # fmt: skip
_FAILED = frozenset({"failed", "error", "errored", "incomplete"})
_PARTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


def is_codex(entry: dict[str, Any]) -> bool:
    """Whether a line is one of such a file."""
    return is_one_of(entry.get("type"), _TYPES) and isinstance(entry.get("payload"), dict)


def read_codex(path: Path) -> History:
    """One thread; that of a sub-agent belongs to the session that started it."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    reader = _Reader(History("codex", name, "openai"))
    for _, entry in read_lines(path):
        payload = entry.get("payload")
        if isinstance(payload, dict):
            reader.take(str(entry.get("type")), payload, time_of(entry.get("timestamp")))
    return reader.finish()


class _Reader:
    """Follows one thread line by line."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._thread = history.session
        self._agent = AGENT
        self._has_meta = False
        self._copied_until = 0
        self._model: str | None = None
        self._call: Call | None = None
        self._counted = 0
        self._totals: dict[str, int | None] | None = None
        self._tools: dict[str, ToolCall] = {}
        self._seen_ns = 0

    def take(self, kind: str, payload: dict[str, Any], at: int) -> None:
        """One line."""
        if kind == "session_meta":
            self._meta(payload, at)
            return
        what = str(payload.get("type"))
        if self._copied_until:
            started = time_of(payload.get("started_at")) or _uuid_time(payload.get("turn_id"))
            if what not in ("task_started", "turn_started") or started < self._copied_until:
                return
            self._copied_until = 0
        if kind == "turn_context" and isinstance(payload.get("model"), str):
            self._model = payload["model"]
        elif kind == "event_msg":
            self._event(what, payload, at)
        elif kind == "response_item":
            self._item(what, payload, at)
        self._seen_ns = max(self._seen_ns, at)

    def _meta(self, payload: dict[str, Any], at: int) -> None:
        """The first one is the thread's own, others are copies."""
        if self._has_meta:
            return
        self._has_meta = True
        history = self._history
        self._thread = history.session = str(payload.get("id") or history.session)
        history.project = last_part(payload.get("cwd"))
        history.version = _text(payload.get("cli_version"))
        history.provider = _text(payload.get("model_provider")) or history.provider
        spawn = _inside(payload, "source", "subagent", "thread_spawn")
        parent = payload.get("parent_thread_id") or spawn.get("parent_thread_id")
        if parent:
            history.session = str(payload.get("session_id") or parent)
            history.thread = self._thread
            self._agent = str(spawn.get("agent_role") or spawn.get("agent_nickname") or "subagent")
        if parent or payload.get("forked_from_id"):
            self._copied_until = time_of(payload.get("timestamp")) or at
        self._seen_ns = at

    def _event(self, what: str, payload: dict[str, Any], at: int) -> None:
        if what == "user_message":
            text = payload.get("message") or payload.get("content")
            self._request(as_text(text).strip(), at)
        elif what == "token_count":
            self._tokens(payload.get("info"), at)
        elif what == "collab_agent_spawn_end":
            self._starts(payload.get("call_id"), payload.get("new_thread_id"))
        elif what in ("task_complete", "turn_complete", "turn_aborted"):
            self._close(at)

    def _item(self, what: str, payload: dict[str, Any], at: int) -> None:
        if what == "message" and payload.get("role") == "assistant":
            call = self._open_call(at)
            call.text = call.text or as_text(payload.get("content"))
        elif what == "reasoning":
            call = self._open_call(at)
            call.text = call.text or as_text(payload.get("summary"))
        elif what in _CALLS:
            self._asks(what, payload, at)
        elif what in _RESULTS:
            self._result(payload, at)

    def _request(self, text: str, at: int) -> None:
        if not text or text.startswith(_HOST_TEXTS):
            return
        if self._history.thread and self._history.turns:
            return  # a sub-agent works for one request; more of it comes from its parent
        self._close(at)
        number = len(self._history.turns)
        self._history.turns.append(Turn(f"{self._thread}:{number}", self._agent, text, at))

    def _turn(self, at: int) -> Turn:
        turns = self._history.turns
        if not turns:
            first = _first_turn(self._thread)
            turns.append(Turn(first, self._agent, "", self._seen_ns or at))
        return turns[-1]

    def _open_call(self, at: int) -> Call:
        """The call that is being answered; a new one after the results of the one before."""
        call = self._call
        if call is not None and any(not self._tools[tool].open for tool in call.asked):
            call.open, call = False, None
        if call is None:
            turn = self._turn(at)
            call = self._call = Call(f"{self._thread}:{self._counted}", self._seen_ns or at)
            self._counted += 1
            call.model = self._model
            turn.calls.append(call)
        call.end_ns = max(call.end_ns, at)
        turn = self._history.turns[-1]
        turn.end_ns = max(turn.end_ns, at)
        return call

    def _asks(self, what: str, payload: dict[str, Any], at: int) -> None:
        call = self._open_call(at)
        identifier = str(payload.get("call_id") or payload.get("id") or f"{call.id}:{what}")
        name = str(payload.get("name") or what.removesuffix("_call"))
        given = payload.get("arguments") or payload.get("input") or payload.get("action")
        tool = ToolCall(identifier, name, at, arguments=as_text(given))
        if what == "web_search_call":  # told when it is over, without a result
            tool.end_ns, tool.open = at, False
        call.asked.append(identifier)
        self._tools[identifier] = tool
        self._history.turns[-1].tools.append(tool)

    def _result(self, payload: dict[str, Any], at: int) -> None:
        tool = self._tools.get(str(payload.get("call_id")))
        if tool is None:
            return
        output = payload.get("output")
        if isinstance(output, dict):
            tool.failed = output.get("success") is False
            output = output.get("content", output)
        tool.result, tool.open = as_text(output), False
        if tool.name == _SPAWN:
            self._starts(tool.id, _thread_in(tool.result))
        tool.failed = tool.failed or is_one_of(payload.get("status"), _FAILED)
        tool.end_ns = max(at, tool.start_ns)
        turn = self._turn(at)
        turn.end_ns = max(turn.end_ns, at)

    def _starts(self, call: Any, thread: Any) -> None:
        """A tool call started a thread: its first turn, which lies in another file."""
        tool = self._tools.get(str(call))
        if tool is not None and isinstance(thread, str) and thread:
            turn = _first_turn(thread)
            if turn not in tool.started:
                tool.started.append(turn)

    def _tokens(self, info: Any, at: int) -> None:
        if not isinstance(info, dict):
            return  # rate limits alone
        totals = _counts(info.get("total_token_usage"))
        newest = _counts(info.get("last_token_usage"))
        known, self._totals = self._totals, totals or self._totals
        if totals is not None and totals == known:
            return
        counts = _difference(totals, known) or newest or totals
        if counts is None:
            return
        if not any(counts.values()):
            return  # before the first call
        call = self._call or self._open_call(at)
        call.usage = Usage(counts["input_tokens"], counts["output_tokens"],
                           counts["cached_input_tokens"], None,
                           counts["reasoning_output_tokens"])  # fmt: skip
        call.end_ns, call.open = max(call.end_ns, at), False
        self._call = None

    def _close(self, at: int) -> None:
        """The turn is over, and with it a call that nothing was counted for."""
        if self._call is not None:
            self._call.open, self._call = False, None
        if self._history.turns:
            turn = self._history.turns[-1]
            turn.open, turn.end_ns = False, turn.end_ns or at

    def finish(self) -> History:
        """What was read."""
        return self._history


def _first_turn(thread: str) -> str:
    """Id of a thread's first turn; the second's ends with 1."""
    return f"{thread}:0"


def _thread_in(result: str) -> Any:
    """The thread that the result of a call which starts one tells; None when it tells none."""
    try:
        told = json.loads(result)
    except (ValueError, RecursionError):
        return None
    return told.get("agent_id") or told.get("thread_id") if isinstance(told, dict) else None


def _counts(raw: Any) -> dict[str, int | None] | None:
    if not isinstance(raw, dict):
        return None
    counts = {part: as_count(raw.get(part)) for part in _PARTS}
    return counts if any(count is not None for count in counts.values()) else None


def _difference(
    totals: dict[str, int | None] | None, known: dict[str, int | None] | None
) -> dict[str, int | None] | None:
    """What was added since; None when there is nothing before, or it began anew."""
    if totals is None or known is None:
        return None
    found: dict[str, int | None] = {}
    for part, count in totals.items():
        before = known[part]
        found[part] = None if count is None else count - (before or 0)
    return None if any(count is not None and count < 0 for count in found.values()) else found


def _uuid_time(value: Any) -> int:
    """Nanoseconds in a UUID of version 7; 0 for others."""
    digits = value.replace("-", "") if isinstance(value, str) else ""
    try:
        return (int(digits[:12], 16) * 1_000_000) if digits[12:13] == "7" else 0
    except ValueError:
        return 0


def _inside(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
