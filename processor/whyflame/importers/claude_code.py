"""Claude Code's session files: `<project>/<session>.jsonl` and those of its sub-agents.

Sub-agents are in files of their own (`<session>/subagents/agent-*.jsonl`, older: beside the
session's file) or among its lines (`isSidechain`). One completion lies on several lines with equal
usage: lines of one message id are one call. The time of a call is from the line before it to its
last line, of a tool call to its result, waiting for permission included.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.importers.claude_lines import is_asked, merge_usage, subagent_files, texts_of
from whyflame.importers.history import Call, History, ToolCall, Turn
from whyflame.importers.lines import (
    as_count,
    as_text,
    is_one_of,
    last_part,
    read_lines,
    time_of,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_claude_code"]

AGENT = "claude-code"
_FINAL = frozenset({"end_turn", "stop_sequence", "refusal", "max_tokens"})
_SYNTHETIC = "<synthetic>"
_DELEGATES = frozenset({"Task", "Agent"})
_NS_PER_MS = 1_000_000
_CLASS = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def read_claude_code(path: Path) -> History:
    """One session with its sub-agents."""
    history = History(AGENT, path.name.removesuffix(".gz").removesuffix(".jsonl"), "anthropic")
    reader = _Reader(history)
    reader.read(path, "")
    for file in subagent_files(path, history.session):
        reader.read(file, file.name.split(".", 1)[0].removeprefix("agent-"))
    reader.finish()
    return history


@dataclass(slots=True)
class _Chain:
    """One agent's own lines in order."""

    id: str
    tool_id: str | None = None
    agent: str | None = None
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    newest: Call | None = None
    answered: bool = False
    seen_ns: int = 0
    skill: str | None = None


class _Reader:
    """Collects the chains of a session, then joins sub-agents to the tool calls behind them."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._chains: dict[str, _Chain] = {"": _Chain("")}
        self._chain_of: dict[str, str] = {}
        self._tools: dict[str, tuple[Turn, ToolCall]] = {}
        self._inputs: dict[str, dict[str, Any]] = {}
        self._agent_of_tool: dict[str, str] = {}

    def read(self, path: Path, chain: str) -> None:
        """Take in the lines of a file; `chain` is the sub-agent whose file it is."""
        for _, entry in read_lines(path):
            if entry.get("type") not in ("user", "assistant"):
                continue
            message = entry.get("message")
            if not isinstance(message, dict):
                continue
            found = self._find_chain(entry, chain)
            at = time_of(entry.get("timestamp"))
            self._note_origin(entry)
            if entry["type"] == "assistant":
                self._assistant(found, entry, message, at)
            else:
                self._user(found, entry, message, at)
        if chain:
            self._read_meta(path, chain)

    def _read_meta(self, path: Path, chain: str) -> None:
        try:
            meta = json.loads(path.with_name(f"agent-{chain}.meta.json").read_text("utf-8"))
        except (OSError, ValueError):
            return
        if chain in self._chains and isinstance(meta, dict):
            tool, kind = meta.get("toolUseId"), meta.get("agentType")
            self._chains[chain].tool_id = tool if isinstance(tool, str) else None
            self._chains[chain].agent = kind if isinstance(kind, str) else None

    def _note_origin(self, entry: dict[str, Any]) -> None:
        history = self._history
        history.project = history.project or last_part(entry.get("cwd"))
        version = entry.get("version")
        if history.version is None and isinstance(version, str):
            history.version = version

    def _find_chain(self, entry: dict[str, Any], given: str) -> _Chain:
        """Whose line it is: of the file's agent, of the agent it names, of the line before it."""
        name = given
        if not given and entry.get("isSidechain"):
            above = self._chain_of.get(str(entry.get("parentUuid")), "")
            name = str(entry.get("agentId") or above or entry.get("uuid") or "side")
        if isinstance(entry.get("uuid"), str):
            self._chain_of[entry["uuid"]] = name
        return self._chains.setdefault(name, _Chain(name))

    def _turn(self, chain: _Chain, at: int) -> Turn:
        """The turn in progress; a file that begins in the middle has one without a request."""
        if not chain.turns:
            key = chain.id or f"{self._history.session}:start"
            chain.turns.append(Turn(key, AGENT, "", at))
        return chain.turns[-1]

    def _user(self, chain: _Chain, entry: dict[str, Any], message: dict[str, Any], at: int) -> None:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        results = [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
        for block in results:
            self._result(block, entry, at)
        text = as_text(content).strip()
        # A sub-agent works for one request: what follows are reminders.
        is_over = bool(chain.id and chain.turns)
        if not results and not is_over and is_asked(entry, text):
            _close(chain)
            key = chain.id or str(entry.get("uuid") or f"{self._history.session}:{at}")
            chain.turns.append(Turn(key, AGENT, text, at))
            chain.skill = None
        chain.seen_ns = max(chain.seen_ns, at)

    def _result(self, block: dict[str, Any], entry: dict[str, Any], at: int) -> None:
        identifier = str(block.get("tool_use_id"))
        if identifier not in self._tools:
            return
        turn, tool = self._tools[identifier]
        tool.result, tool.failed = as_text(block.get("content")), bool(block.get("is_error"))
        tool.end_ns, tool.open = max(at, tool.start_ns), False
        turn.end_ns = max(turn.end_ns, at)
        details = entry.get("toolUseResult")
        if isinstance(details, dict):
            lasted = as_count(details.get("durationMs"))
            if lasted is not None and lasted * _NS_PER_MS < tool.end_ns - tool.start_ns:
                tool.start_ns = tool.end_ns - lasted * _NS_PER_MS
            if isinstance(details.get("agentId"), str):
                self._agent_of_tool[details["agentId"]] = identifier

    def _assistant(
        self, chain: _Chain, entry: dict[str, Any], message: dict[str, Any], at: int
    ) -> None:
        failed = bool(entry.get("isApiErrorMessage"))
        if message.get("model") == _SYNTHETIC and not failed:
            return  # words of the program itself
        turn = self._turn(chain, at)
        key = str(message.get("id") or entry.get("requestId") or entry.get("uuid"))
        call = chain.calls.get(key)
        if call is None:
            call = chain.calls[key] = Call(key, chain.seen_ns or at, skill=chain.skill)
            call.error = _error_of(entry) if failed else None
            call.response_id = _text_or_none(entry.get("requestId") or message.get("id"))
            model = message.get("model")
            call.model = model if isinstance(model, str) and model != _SYNTHETIC else None
            turn.calls.append(call)
            if chain.newest is not None:
                chain.newest.open = False
        merge_usage(call, entry, message, failed=failed)
        if not failed:  # else the words are the program's
            self._blocks(chain, turn, call, message.get("content"), at)
        chain.newest, chain.seen_ns = call, max(chain.seen_ns, at)
        stop = message.get("stop_reason")
        chain.answered = is_one_of(stop, _FINAL) or failed
        call.end_ns = max(at, call.end_ns)
        call.open = not (stop or failed)
        turn.end_ns = max(turn.end_ns, at)

    def _blocks(self, chain: _Chain, turn: Turn, call: Call, content: Any, at: int) -> None:
        said = as_text(content if isinstance(content, str) else texts_of(content, "text"))
        call.text = call.text or said or as_text(texts_of(content, "thinking"))
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            identifier, given = str(block.get("id")), block.get("input")
            if identifier in self._tools:
                continue
            name = str(block.get("name"))
            tool = ToolCall(identifier, name, at, arguments=as_text(given), skill=chain.skill)
            call.asked.append(identifier)
            turn.tools.append(tool)
            self._tools[identifier] = (turn, tool)
            if isinstance(given, dict) and name in _DELEGATES:
                self._inputs[identifier] = given
            if isinstance(given, dict) and name == "Skill" and isinstance(given.get("skill"), str):
                chain.skill = tool.skill = given["skill"]

    def finish(self) -> None:
        """Close what is over and put all turns into the history."""
        main = self._chains.pop("")
        if main.answered:
            _close(main)
        turns = list(main.turns)
        claimed: set[str] = set()
        started = [chain for chain in self._chains.values() if chain.turns]
        for chain in sorted(started, key=lambda chain: (chain.turns[0].start_ns, chain.id)):
            if chain.answered:
                _close(chain)
            if self._join(chain, main, claimed):
                turns += chain.turns
        self._history.turns = turns

    def _join(self, chain: _Chain, main: _Chain, claimed: set[str]) -> bool:
        """Hang a sub-agent at the tool call that started it, else at the turn it began in.

        False when the session's file has not come that far: it is taken in the next time.
        """
        turn = chain.turns[0]
        found = self._starter(chain, turn.prompt, claimed)
        if found is not None:
            claimed.add(found)
            kind = self._inputs.get(found, {}).get("subagent_type")
            turn.started_by = self._tools[found]
            turn.agent = chain.agent or (kind if isinstance(kind, str) else "") or "subagent"
            return True
        before = [other for other in main.turns if other.start_ns <= turn.start_ns]
        turn.agent = chain.agent or "subagent"
        if before:
            turn.started_by = (before[-1], None)
        return turn.start_ns <= main.seen_ns

    def _starter(self, chain: _Chain, prompt: str, claimed: set[str]) -> str | None:
        """The same however far the session's file has come: the result is looked at last."""
        if chain.tool_id in self._tools:
            return chain.tool_id
        for identifier, given in self._inputs.items():
            asked = given.get("prompt")
            if identifier not in claimed and isinstance(asked, str) and asked.strip() == prompt:
                return identifier
        found = self._agent_of_tool.get(chain.id)
        return found if found in self._tools else None


def _close(chain: _Chain) -> None:
    """The turn and its last call are over: there was a final answer, or another request begins."""
    if chain.turns:
        chain.turns[-1].open = False
    if chain.newest is not None:
        chain.newest.open = False
    chain.answered = False


def _error_of(entry: dict[str, Any]) -> str:
    """The class of a failure; never a sentence, which may quote what was said."""
    error = entry.get("error")
    return error if isinstance(error, str) and _CLASS.fullmatch(error) else "api_error"


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
