"""A scripted chat-completions server: it says what the plan says and keeps the true figures.

A client names its lane in the API key (`script-<lane>`), which no instrumentation records.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plan import Call, Lane, Reply, Session
    from world import Truth

CACHE_BLOCK = 128
CACHE_MINIMUM = 1024


@dataclass(slots=True)
class _Progress:
    """How far one lane has come."""

    session: Session
    lane: Lane
    position: int = 0
    context: int = 0
    previous_input: int = 0
    turn: int = -1


class ModelServer:
    """Serves all lanes of the sessions given to `open_session`."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._lanes: dict[str, _Progress] = {}
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def open_session(self, session: Session) -> None:
        """Make the lanes of a session known."""
        for lane in _all_lanes(session.main):
            self._lanes[lane.key] = _Progress(session, lane, context=lane.base_tokens)

    def answer(self, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """One attempt of one model call."""
        time.sleep(0.002)
        with self._lock:
            progress = self._lanes[key]
            reply = progress.lane.replies[progress.position]
            if reply.refused:
                reply.refused -= 1
                return 429, _error("Rate limit reached, please retry.", "rate_limit_exceeded")
            self._take_prompt(progress, body)
            if reply.status != 200:
                self._truth.failed_call(progress.session, progress.lane, reply)
                return reply.status, _error(_REASONS[reply.status], "invalid_request_error")
            return 200, self._succeed(progress, reply)

    def _take_prompt(self, progress: _Progress, body: dict[str, Any]) -> None:
        users = sum(message["role"] == "user" for message in body["messages"]) - 1
        if users <= progress.turn:
            return
        progress.turn = users
        turns = progress.session.turns
        is_main = progress.lane is progress.session.main
        progress.context += turns[users].tokens if is_main else 60

    def _succeed(self, progress: _Progress, reply: Reply) -> dict[str, Any]:
        given = progress.context
        cached = progress.previous_input // CACHE_BLOCK * CACHE_BLOCK
        if cached < CACHE_MINIMUM or (given + progress.position) % 7 == 0:
            cached = 0
        self._truth.model_call(progress.session, progress.lane, reply, given, cached)
        answer = _completion(progress, reply, given, cached)
        progress.previous_input = given
        progress.context += (
            reply.output - reply.reasoning + sum(call.tokens for call in reply.calls)
        )
        progress.position += 1
        return answer

    def close(self) -> None:
        self._http.shutdown()


_REASONS = {
    400: "This model's maximum context length is exceeded.",
    429: "Rate limit reached for requests per day.",
    500: "The server had an error while processing your request.",
}


def _all_lanes(lane: Lane) -> list[Lane]:
    found = [lane]
    for reply in lane.replies:
        for call in reply.calls:
            if call.lane:
                found += _all_lanes(call.lane)
    return found


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code, "param": None}}


def _tool_call(key: str, position: int, number: int, call: Call) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.args)}
    return {"id": f"call_{key}_{position}_{number}", "type": "function", "function": function}


def _completion(progress: _Progress, reply: Reply, given: int, cached: int) -> dict[str, Any]:
    key, position = progress.lane.key, progress.position
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_tool_call(key, position, n, c) for n, c in enumerate(reply.calls)]
    usage = {
        "prompt_tokens": given,
        "completion_tokens": reply.output,
        "total_tokens": given + reply.output,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning},
    }
    reason = "tool_calls" if reply.calls else "stop"
    return {
        "id": f"chatcmpl-{key}-{position}",
        "object": "chat.completion",
        "created": 1793610000,
        "model": _RELEASES[progress.lane.model],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }


_RELEASES = {
    "gpt-5": "gpt-5-2025-08-07",
    "gpt-5-mini": "gpt-5-mini-2025-08-07",
    "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14",
    "gpt-4.1-nano": "gpt-4.1-nano-2025-04-14",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["authorization"].removeprefix("Bearer script-")
        status, answer = self.server_state.answer(key, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
