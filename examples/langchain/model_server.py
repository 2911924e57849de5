"""A scripted model: an OpenAI-compatible server on 127.0.0.1 that plays one fixed conversation."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCRIPT: list[tuple[str, str | None, dict[str, str], int]] = [
    # what the model says, the tool it asks for, its arguments, output tokens
    ("Let me inspect the failing test first.", "read_file", {"path": "tests/test_login.py"}, 61),
    ("", "run_tests", {"target": "tests/test_login.py"}, 24),
    (
        "I'll diagnose the authentication failure in the session check.",
        "read_file",
        {"path": "auth/session.py"},
        212,
    ),
    (
        "Now edit the session check: it must use the shared clock.",
        "edit_file",
        {"path": "auth/session.py", "old": "time.time()", "new": "clock.now()"},
        95,
    ),
    ("Let me run the tests.", "run_tests", {"target": "tests"}, 33),
    (
        "The whole suite is too slow. Run the login test.",
        "run_tests",
        {"target": "tests/test_login.py"},
        45,
    ),
    ("The login test passes: the session check used the wrong clock.", None, {}, 48),
    ("I'll read the session code once more.", "read_file", {"path": "auth/session.py"}, 40),
    ("I could not find a changelog in this project.", None, {}, 29),
]
FIRST_INPUT = 1450
GROWTH = 640


class ModelServer:
    """Answers `/v1/chat/completions` from the script, and adds up what it answered."""

    def __init__(self) -> None:
        self.totals = {
            "llm_calls": 0,
            "input_tokens": 0,
            "cache_read_tokens": 0,
            "output_tokens": 0,
        }
        handler = type("Handler", (_Handler,), {"model": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def next_answer(self) -> dict[str, Any]:
        """The next line of the script; prompts grow, and most of a prompt is served from cache."""
        position = self.totals["llm_calls"]
        text, tool, arguments, output = SCRIPT[position]
        given = FIRST_INPUT + GROWTH * position
        cached = (given - GROWTH) // 128 * 128 if position else 0
        added = {"llm_calls": 1, "input_tokens": given, "cache_read_tokens": cached}
        for key, value in (added | {"output_tokens": output}).items():
            self.totals[key] += value
        return _completion(
            position, _message(position, text, tool, arguments), given, cached, output
        )


def _message(
    position: int, text: str, tool: str | None, arguments: dict[str, str]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if tool:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [
            {"id": f"call_{position}", "type": "function", "function": function}
        ]
    return message


def _completion(
    position: int, message: dict[str, Any], given: int, cached: int, output: int
) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": f"chatcmpl-{position}",
        "object": "chat.completion",
        "created": 1793610000,
        "model": "gpt-5-mini-2025-08-07",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": output,
            "total_tokens": given + output,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(self.model.next_answer()).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
