"""Session files of a coding agent, as its histories look: requests, model calls, tools, results."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)
CALLS = 40  # model calls a session, each with a tool: 80 operations
REQUESTS = (
    "fix the failing login test",
    "add paging to the list of orders",
    "explain why the build is slow",
    "write the changelog of this release",
)
TOOLS = (
    ("Read", "file_path", "/home/someone/shop/src/{}.py"),
    ("Edit", "file_path", "/home/someone/shop/src/{}.py"),
    ("Bash", "command", "pytest -q tests/test_{}.py"),
    ("Grep", "pattern", "def {}"),
)
NAMES = ("login", "orders", "basket", "clock", "mail", "search", "users", "prices")


def write_session_files(folder: Path, operations: int, seed: int = 1) -> list[Path]:
    """Files with at least so many operations in all; the same for the same seed."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in range(-(-operations // (2 * CALLS))):
        session = f"5f6d0b1e-0000-4000-8000-{number:012d}"
        path = folder / f"{session}.jsonl"
        lines = _session(session, folder, START + timedelta(minutes=20 * number), rng)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        files.append(path)
    return files


def _session(
    session: str, folder: Path, start: datetime, rng: random.Random
) -> list[dict[str, Any]]:
    common = {
        "sessionId": session, "cwd": str(folder), "version": "2.1.0", "userType": "external",
        "isSidechain": False,
    }  # fmt: skip
    lines: list[dict[str, Any]] = []
    seconds = 0.0

    def add(kind: str, message: dict[str, Any]) -> None:
        nonlocal seconds
        seconds += rng.uniform(0.2, 6)
        moment = (start + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
        lines.append(
            {"type": kind, "uuid": f"{session}-{len(lines)}", "message": message, **common,
             "parentUuid": lines[-1]["uuid"] if lines else None,
             "timestamp": moment.replace("+00:00", "Z")}
        )  # fmt: skip

    for call in range(CALLS):
        if call % 10 == 0:
            add("user", {"role": "user", "content": rng.choice(REQUESTS)})
        name, argument, shape = rng.choice(TOOLS)
        tool = f"toolu_{session[-12:]}_{call}"
        usage = {
            "input_tokens": rng.randrange(2, 40), "output_tokens": rng.randrange(20, 900),
            "cache_read_input_tokens": rng.randrange(1000, 60_000),
            "cache_creation_input_tokens": rng.randrange(0, 3000),
        }  # fmt: skip
        block = {"type": "tool_use", "id": tool, "name": name,
                 "input": {argument: shape.format(rng.choice(NAMES))}}  # fmt: skip
        add(
            "assistant",
            {"id": f"msg_{session[-12:]}_{call}", "role": "assistant", "content": [block],
             "model": "claude-sonnet-4-5", "stop_reason": "tool_use", "usage": usage},
        )  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": tool, "content": "ok " * rng.randrange(200)}
        add("user", {"role": "user", "content": [result]})
    return lines
