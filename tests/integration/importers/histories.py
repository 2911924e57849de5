"""Small session files in the documented shapes, written by hand; nobody worked in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests import otlp

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)
SESSION = "5f6d0b1e-0000-4000-8000-000000000001"
CODEX_THREAD = "019a0000-0000-7000-8000-000000000001"


def at(seconds: float) -> str:
    """A time of the session, as these files write it."""
    moment = (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def write_lines(path: Path, lines: list[dict[str, Any]], tail: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
    return path


# --- Claude Code ------------------------------------------------------------------------------


class Claude:
    """Writes lines of one chain."""

    def __init__(self, session: str = SESSION, **more: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self._common = {
            "sessionId": session, "cwd": "/home/someone/shop", "version": "2.1.0", "userType": "external",
            "isSidechain": False, **more,
        }  # fmt: skip
        self._number = 0

    def _add(self, kind: str, seconds: float, message: dict[str, Any], **more: Any) -> str:
        self._number += 1
        uuid = f"{more.pop('prefix', 'line')}-{len(self.lines)}"
        parent = self.lines[-1]["uuid"] if self.lines else None
        self.lines.append(
            {"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": at(seconds),
             "message": message, **self._common, **more}
        )  # fmt: skip
        return uuid

    def user(self, seconds: float, text: str, **more: Any) -> None:
        self._add("user", seconds, {"role": "user", "content": text}, **more)

    def result(self, seconds: float, tool: str, text: str, **more: Any) -> None:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool, "content": text}
        if more.pop("failed", False):
            block["is_error"] = True
        self._add("user", seconds, {"role": "user", "content": [block]}, **more)

    def say(
        self, seconds: float, message: str, block: dict[str, Any], usage: tuple[int, int, int, int],
        stop: str | None = "tool_use", model: str = "claude-sonnet-4-5",
    ) -> None:  # fmt: skip
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
                 "output_tokens")  # fmt: skip
        self._add(
            "assistant", seconds,
            {"id": message, "role": "assistant", "model": model, "content": [block],
             "stop_reason": stop, "usage": dict(zip(names, usage, strict=True))},
            requestId=f"req_{message}",
        )  # fmt: skip


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(identifier: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": given}


def claude_session() -> list[dict[str, Any]]:
    """Two requests; a call on three lines, a failing tool, a sub-agent, an API error, reminders."""
    c = Claude()
    c.user(0, "fix the failing login test")
    c.say(4, "m1", {"type": "thinking", "thinking": "look first"}, (10, 1000, 200, 1), stop=None)
    c.say(5, "m1", text("I will read the test"), (10, 1000, 200, 40), stop=None)
    c.say(6, "m1", tool("t1", "Read", file_path="/home/someone/shop/tests/login.py"),
          (10, 1000, 200, 60))  # fmt: skip
    c.result(7, "t1", "def test_login(): ...", toolUseResult={"durationMs": 250})
    c.say(9, "m2", tool("t2", "Bash", command="pytest -q"), (5, 1200, 0, 30))
    c.result(29, "t2", "1 failed", failed=True)
    c.user(30, "<system-reminder>do not mention this</system-reminder>", isMeta=True)
    c.say(33, "m3", tool("t3", "Task", subagent_type="researcher", prompt="find the cause"),
          (7, 1300, 50, 25))  # fmt: skip
    c.result(60, "t3", "the clock is wrong", toolUseResult={"agentId": "a1", "totalTokens": 999})
    c.say(65, "m4", text("done"), (4, 1500, 0, 12), stop="end_turn")
    c.user(600, "now write the changelog")
    c.lines.append(
        {**c.lines[-1], "uuid": "err", "type": "assistant", "timestamp": at(603),
         "isApiErrorMessage": True, "error": "overloaded",
         "message": {"id": "m5", "model": "<synthetic>", "content": [text("API Error")],
                     "usage": {"input_tokens": 0, "output_tokens": 0}}}
    )  # fmt: skip
    c.say(610, "m6", text("written"), (20, 1600, 0, 80), stop="end_turn")
    return c.lines


def claude_subagent() -> list[dict[str, Any]]:
    c = Claude(isSidechain=True, agentId="a1")
    c.user(34, "find the cause", prefix="side")
    c.say(40, "s1", tool("u1", "Grep", pattern="clock"), (3, 0, 400, 10), model="claude-haiku-4-5")
    c.result(41, "u1", "clock.py:3")
    c.say(55, "s2", text("the clock is wrong"), (2, 400, 0, 9), "end_turn", "claude-haiku-4-5")
    return c.lines


def claude_project(folder: Path, lines: list[dict[str, Any]] | None = None) -> Path:
    """A project folder with the session and the file of its sub-agent."""
    write_lines(folder / f"{SESSION}.jsonl", lines if lines is not None else claude_session())
    write_lines(folder / SESSION / "subagents" / "agent-a1.jsonl", claude_subagent())
    return folder


def claude_code_span(
    session: str, request: str, at_ms: float, tokens: tuple[int, int, int, int]
) -> bytes:
    """A model call as the program itself exports it."""
    begin = START.timestamp() * 1000 - otlp.T0 / otlp.MS + at_ms
    names = ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens")
    attributes = {
        "span.type": "llm_request", "model": "claude-sonnet-4-5", "request_id": request,
        "session.id": session, **dict(zip(names, tokens, strict=True)),
    }  # fmt: skip
    return otlp.traces(
        otlp.Row("com.anthropic.claude_code.tracing", "claude_code.llm_request", attributes,
                 start=begin, end=begin + 4900, service="claude-code")
    )  # fmt: skip


_LIVE_CALLS = (
    # id, parent, message, end, usage; the time of the one before is where it begins
    (2, 1, "m1", 0, 6, (10, 1000, 200, 60)), (5, 1, "m2", 7, 9, (5, 1200, 0, 30)),
    (8, 1, "m3", 30, 33, (7, 1300, 50, 25)), (11, 10, "s1", 34, 40, (3, 0, 400, 10)),
    (13, 10, "s2", 41, 55, (2, 400, 0, 9)), (14, 1, "m4", 60, 65, (4, 1500, 0, 12)),
    (22, 21, "m5", 600, 603, None), (23, 21, "m6", 603, 610, (20, 1600, 0, 80)),
)  # fmt: skip
_LIVE_TOOLS = (
    (3, 1, "t1", "Read", 6, 7, True), (6, 1, "t2", "Bash", 9, 29, False),
    (9, 1, "t3", "Agent", 33, 60, True), (12, 10, "u1", "Grep", 40, 41, True),
)  # fmt: skip


def _live(
    name: str, identifier: int, parent: int, seconds: tuple[float, float], **more: Any
) -> otlp.Row:
    offset = START.timestamp() * 1000 - otlp.T0 / otlp.MS
    begin, end = (offset + second * 1000 for second in seconds)
    trace = 2 if identifier in (21, 22, 23) else 1
    attributes = {"session.id": SESSION, "span.type": name, **more}
    return otlp.Row(
        "com.anthropic.claude_code.tracing", f"claude_code.{name}", attributes, trace=trace,
        id=identifier, parent=parent, start=begin, end=end, service="claude-code",
    )  # fmt: skip


def _call(message: str, usage: tuple[int, ...] | None, *, ids: bool) -> dict[str, Any]:
    names = ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens")
    figures = dict(zip(names, usage, strict=True)) if usage else {}
    known = {"request_id": f"req_{message}"} if ids and usage else {}
    model = "claude-haiku-4-5" if message[0] == "s" else "claude-sonnet-4-5"
    return {"model": model, "success": usage is not None, **figures, **known}


def claude_live_spans(*, ids: bool) -> bytes:
    """The session as the program sends it with traces on; `ids`: the API told request ids."""
    rows = [_live("interaction", 1, 0, (0, 65)), _live("interaction", 21, 0, (600, 610))]
    for identifier, parent, message, begin, end, usage in _LIVE_CALLS:
        attributes = _call(message, usage, ids=ids)
        rows.append(_live("llm_request", identifier, parent, (begin, end), **attributes))
    for identifier, parent, call, name, begin, end, worked in _LIVE_TOOLS:
        more = {"tool_use_id": call}
        rows.append(_live("tool", identifier, parent, (begin, end), tool_name=name, **more))
        # The sub-agent's work stands below the execution of the tool that started it.
        inner = 10 if call == "t3" else identifier + 100 if identifier > 10 else identifier + 50
        rows.append(
            _live("tool.execution", inner, identifier, (begin, end), success=worked, **more)
        )
    return otlp.traces(*rows)


def claude_live_events(*, ids: bool) -> list[bytes]:
    """The same as log events, which is what the program sends when only logs are on."""
    scope, offset = "com.anthropic.claude_code.events", START.timestamp() * 1000 - otlp.T0 / otlp.MS
    found: list[tuple[float, dict[str, Any]]] = [
        (0, {"event.name": "user_prompt"}), (600, {"event.name": "user_prompt"}),
    ]  # fmt: skip
    for _, _, message, begin, end, usage in _LIVE_CALLS:
        name = "api_request" if usage else "api_error"
        attributes = _call(message, usage, ids=ids)
        found.append((end, {"event.name": name, "duration_ms": (end - begin) * 1000, **attributes}))
    for _, _, call, tool_name, begin, end, worked in _LIVE_TOOLS:
        found.append(
            (end, {"event.name": "tool_result", "tool_name": tool_name, "tool_use_id": call,
                   "success": str(worked).lower(), "duration_ms": (end - begin) * 1000})
        )  # fmt: skip
    return [
        otlp.logs(scope, {"session.id": SESSION, **event}, time_ms=offset + at * 1000)
        for at, event in sorted(found, key=lambda pair: pair[0])
    ]


# --- Codex ------------------------------------------------------------------------------------


def codex_line(
    seconds: float, kind: str, what: str | None = None, **payload: Any
) -> dict[str, Any]:
    body = payload if what is None else {"type": what, **payload}
    return {"timestamp": at(seconds), "type": kind, "payload": body}


def tokens(seconds: float, total: tuple[int, ...], last: tuple[int, ...]) -> dict[str, Any]:
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")

    def counted(counts: tuple[int, ...]) -> dict[str, int]:
        return dict(zip(names, counts, strict=True)) | {"total_tokens": counts[0] + counts[2]}

    info = {"total_token_usage": counted(total), "last_token_usage": counted(last)}
    return codex_line(seconds, "event_msg", "token_count", info=info)


def codex_session() -> list[dict[str, Any]]:
    """Two calls of which the first only asks for tools; one event told twice; a second request."""
    return [
        codex_line(0, "session_meta", id=CODEX_THREAD, cwd="/srv/shop", cli_version="0.90.0",
                   timestamp=at(0), model_provider="openai"),
        codex_line(0, "response_item", "message", role="user",
                   content=[{"type": "input_text", "text": "<environment_context>secret</…>"}]),
        codex_line(1, "event_msg", "task_started", turn_id="x"),
        codex_line(1, "event_msg", "user_message", message="add a retry to the client"),
        codex_line(1, "turn_context", model="gpt-5-codex", cwd="/srv/shop"),
        codex_line(1, "event_msg", "token_count", info=None, rate_limits={"primary": 1}),
        codex_line(4, "response_item", "reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        codex_line(5, "response_item", "function_call", name="shell", call_id="c1",
                   arguments='{"command":["ls"]}'),
        codex_line(5, "response_item", "function_call", name="shell", call_id="c2",
                   arguments='{"command":["cat","client.py"]}'),
        tokens(5.5, (1000, 0, 100, 60), (1000, 0, 100, 60)),
        codex_line(7, "response_item", "function_call_output", call_id="c1", output="client.py"),
        codex_line(8, "response_item", "function_call_output", call_id="c2",
                   output={"content": "no such file", "success": False}),
        tokens(8, (1000, 0, 100, 60), (1000, 0, 100, 60)),
        codex_line(12, "response_item", "message", role="assistant",
                   content=[{"type": "output_text", "text": "retry added"}]),
        tokens(12, (2300, 900, 150, 70), (1300, 900, 50, 10)),
        codex_line(12, "event_msg", "task_complete", turn_id="x"),
        codex_line(100, "event_msg", "user_message", message="thanks, and test it"),
        codex_line(104, "response_item", "message", role="assistant",
                   content=[{"type": "output_text", "text": "tested"}]),
        tokens(104, (3700, 2100, 170, 70), (1400, 1200, 20, 0)),
    ]  # fmt: skip


CODEX_CHILD = "019a0000-0000-7000-8000-000000000002"


def codex_parent(tell: str = "output") -> list[dict[str, Any]]:
    """A request whose first call starts a sub-agent and works on beside it; then another request.

    `tell`: where the sub-agent's thread is told, in the call's `output` or in an `event`.
    """
    told = {"agent_id": CODEX_CHILD, "nickname": "Ada"} if tell == "output" else {"task_name": "x"}
    lines = codex_session()
    spawned = [
        codex_line(5.2, "response_item", "function_call", name="spawn_agent", call_id="c9",
                   arguments='{"message":"run the tests"}'),
        codex_line(5.3, "response_item", "function_call_output", call_id="c9",
                   output=json.dumps(told)),
    ]  # fmt: skip
    if tell == "event":
        spawned.append(
            codex_line(5.3, "event_msg", "collab_agent_spawn_end", call_id="c9",
                       sender_thread_id=CODEX_THREAD, new_thread_id=CODEX_CHILD)
        )  # fmt: skip
    place = next(at for at, line in enumerate(lines) if line["payload"].get("call_id") == "c1")
    return [
        *lines[:place],
        spawned[0],
        *lines[place : place + 3],
        *spawned[1:],
        *lines[place + 3 :],
    ]


def codex_child() -> list[dict[str, Any]]:
    """The sub-agent's thread, which begins with its parent's lines and gets a second message."""
    spawn = {
        "subagent": {"thread_spawn": {"parent_thread_id": CODEX_THREAD, "agent_role": "tester"}}
    }
    return [
        codex_line(5.3, "session_meta", id=CODEX_CHILD, timestamp=at(5.3), source=spawn),
        *codex_session()[:4],
        codex_line(6, "event_msg", "task_started", started_at=at(6)),
        codex_line(6, "event_msg", "user_message", message="run the tests"),
        codex_line(6.5, "response_item", "function_call", name="shell", call_id="d1",
                   arguments='{"command":["pytest"]}'),
        tokens(6.6, (3800, 2100, 180, 70), (100, 0, 10, 0)),
        codex_line(9, "response_item", "function_call_output", call_id="d1", output="2 passed"),
        codex_line(10, "event_msg", "user_message", message="and say it"),
        codex_line(11, "response_item", "message", role="assistant",
                   content=[{"type": "output_text", "text": "they pass"}]),
        tokens(11, (3900, 2150, 185, 70), (100, 50, 5, 0)),
        codex_line(11, "event_msg", "task_complete", turn_id="y"),
    ]  # fmt: skip


# --- Gemini -----------------------------------------------------------------------------------


def gemini_session() -> dict[str, Any]:
    return {
        "sessionId": "gem-1", "projectHash": "ab", "startTime": at(0), "lastUpdated": at(20),
        "messages": [
            {"id": "1", "timestamp": at(0), "type": "user", "content": "count the files"},
            {"id": "2", "timestamp": at(3), "type": "gemini", "content": "", "model": "gemini-2.5-pro",
             "tokens": {"input": 500, "output": 20, "cached": 100, "thoughts": 30, "tool": 0,
                        "total": 550},
             "toolCalls": [{"id": "g1", "name": "run_shell_command", "args": {"command": "ls"},
                            "status": "error", "resultDisplay": "denied", "timestamp": at(5)}]},
            {"id": "3", "timestamp": at(8), "type": "gemini", "content": "three",
             "model": "gemini-2.5-pro",
             "tokens": {"input": 600, "output": 5, "cached": 0, "thoughts": 0, "total": 605}},
        ],
    }  # fmt: skip
