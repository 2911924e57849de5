"""Adds up the true figures of a recording for the manifest."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, Any]


def totals(calls: list[Record], tools: list[Record]) -> Record:
    """The sums that `whyflame totals` must give, unknown = None."""
    answered = [call for call in calls if "input" in call]

    def add(key: str) -> int | None:
        return sum(call[key] for call in answered) if answered else None

    return {
        "llm_calls": len(calls),
        "llm_errors": len(calls) - len(answered),
        "embedding_calls": 0,
        "tool_calls": len(tools),
        "tool_errors": sum(tool["error"] for tool in tools),
        "input_tokens": add("input"),
        "output_tokens": add("output"),
        "cache_read_tokens": add("cached"),
        "cache_write_tokens": None,
        "reasoning_tokens": add("reasoning"),
        "calls_without_usage": len(calls) - len(answered),
    }


def grouped(calls: list[Record], tools: list[Record], key: Callable[[Record], str]) -> Record:
    """Totals by whatever `key` says, most tokens first."""
    split: dict[str, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for call in calls:
        split[key(call)][0].append(call)
    for tool in tools:
        split[key(tool)][1].append(tool)
    rows = {name: _row(*records) for name, records in split.items()}
    return dict(sorted(rows.items(), key=lambda item: (-item[1]["tokens"], item[0])))


def _row(calls: list[Record], tools: list[Record]) -> Record:
    row = totals(calls, tools)
    row["tokens"] = (row["input_tokens"] or 0) + (row["output_tokens"] or 0)
    row["tool_seconds"] = round(sum(tool["seconds"] for tool in tools), 1)
    return row


def manifest(calls: list[Record], tools: list[Record], sessions: list[Record]) -> Record:
    """Everything that is known to be true about the recorded fleet."""
    of = {session["session"]: session for session in sessions}
    return {
        "totals": totals(calls, tools),
        "sessions": {
            session["session"]: {
                key: session[key] for key in ("agent", "task", "version", "outcome")
            }
            | totals(
                [call for call in calls if call["session"] == session["session"]],
                [tool for tool in tools if tool["session"] == session["session"]],
            )
            for session in sessions
        },
        "by_task": grouped(calls, tools, lambda r: str(of[r["session"]]["task"])),
        "by_phase": grouped(calls, tools, lambda r: str(r["phase"])),
        "by_agent": grouped(calls, tools, lambda r: str(of[r["session"]]["agent"])),
        "by_outcome": grouped(calls, tools, lambda r: str(of[r["session"]]["outcome"])),
        "by_version": grouped(
            calls, tools, lambda r: f"{of[r['session']]['agent']} {of[r['session']]['version']}"
        ),
        "by_outcome_phase": grouped(
            calls, tools, lambda r: f"{of[r['session']]['outcome']}: {r['phase']}"
        ),
    }
