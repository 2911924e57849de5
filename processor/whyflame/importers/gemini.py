"""Gemini CLI's session files: `chats/session-*.json`, one object that is written anew each time.

The input holds what was cached; thoughts lie beside the output.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.errors import PermanentError
from whyflame.importers.history import Call, History, ToolCall, Turn, Usage
from whyflame.importers.lines import as_count, as_text, is_one_of, open_file, time_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_gemini", "read_gemini"]

AGENT = "gemini-cli"
_FAILED = frozenset({"error", "failed", "cancelled"})


def is_gemini(entry: dict[str, Any]) -> bool:
    """Whether a JSON file is one of these."""
    return isinstance(entry.get("messages"), list) and isinstance(entry.get("sessionId"), str)


def read_gemini(path: Path) -> History:
    """One session."""
    with open_file(path) as file:
        content = json.load(file)
    if not isinstance(content, dict) or not is_gemini(content):
        raise PermanentError(f"{path}: no Gemini CLI session: no `sessionId` and `messages`")
    history = History(AGENT, content["sessionId"], "google")
    seen_ns = time_of(content.get("startTime"))
    for number, message in enumerate(content["messages"]):
        if isinstance(message, dict):
            seen_ns = _message(history, message, number, seen_ns)
    return history


def _message(history: History, message: dict[str, Any], number: int, seen_ns: int) -> int:
    """Take one message in; returns the newest time."""
    at = time_of(message.get("timestamp")) or seen_ns
    key = f"{history.session}:{message.get('id') or number}"
    if message.get("type") == "user":
        text = as_text(message.get("content")).strip()
        if text and not text.startswith(("/", "<")):
            if history.turns:
                history.turns[-1].open = False
            history.turns.append(Turn(key, AGENT, text, at, at))
        return at
    if message.get("type") not in ("gemini", "assistant", "model"):
        return at
    if not history.turns:
        history.turns.append(Turn(f"{history.session}:start", AGENT, "", seen_ns or at, at))
    turn = history.turns[-1]
    call = Call(key, seen_ns or at, at, open=False)
    model = message.get("model")
    call.model = model if isinstance(model, str) else None
    call.text = as_text(message.get("content")) or _thoughts(message.get("thoughts"))
    call.usage = _usage(message.get("tokens"))
    turn.calls.append(call)
    tools = message.get("toolCalls")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            at = max(at, _tool(turn, call, tool, at))
    turn.open, turn.end_ns = bool(tools), max(turn.end_ns, at)
    return at


def _tool(turn: Turn, call: Call, raw: dict[str, Any], at: int) -> int:
    """A tool call of a message; its time is when it was over."""
    identifier = str(raw.get("id") or f"{call.id}:{len(call.asked)}")
    end = max(at, time_of(raw.get("timestamp")) or at)
    tool = ToolCall(identifier, str(raw.get("name")), at, end, open=False)
    tool.arguments = as_text(raw.get("args"))
    tool.result = as_text(raw.get("resultDisplay")) or as_text(raw.get("result")) or None
    tool.failed = is_one_of(raw.get("status"), _FAILED)
    call.asked.append(identifier)
    turn.tools.append(tool)
    return end


def _usage(raw: Any) -> Usage:
    if not isinstance(raw, dict):
        return Usage()
    said, thought = as_count(raw.get("output")), as_count(raw.get("thoughts"))
    whole = None if said is None else said + (thought or 0)
    return Usage(as_count(raw.get("input")), whole, as_count(raw.get("cached")), None, thought)


def _thoughts(raw: Any) -> str:
    parts = raw if isinstance(raw, list) else []
    return "\n".join(
        str(part.get("description") or part.get("subject") or "")
        for part in parts
        if isinstance(part, dict)
    )
