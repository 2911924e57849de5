"""Lines and files of Claude Code's sessions: which they are, and what single lines say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.importers.lines import PassedOver, as_count, first_line, is_one_of

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.importers.history import Call

__all__ = [
    "is_asked",
    "is_claude_code",
    "is_subagent_file",
    "merge_usage",
    "session_file_of",
    "subagent_files",
    "texts_of",
]

_TYPES = frozenset(
    {"user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation",
     "last-prompt", "progress", "attachment", "permission-mode", "custom-title", "ai-title",
     "agent-name", "pr-link", "mode", "result"}
)  # fmt: skip
_MARKS = ("sessionId", "leafUuid", "messageId")
_NOT_ASKED = (
    "<local-command", "<command-", "<system-reminder", "<ide_", "<bash-", "<user-memory-input",
    "<task-notification", "[Request interrupted", "Caveat: The messages below",
)  # fmt: skip


def is_claude_code(entry: dict[str, Any]) -> bool:
    """Whether a line is one of such a file."""
    return is_one_of(entry.get("type"), _TYPES) and any(mark in entry for mark in _MARKS)


def is_subagent_file(path: Path) -> bool:
    """Whether the name is one of a sub-agent's file, which is read with its session's."""
    return path.name.startswith("agent-")


def session_file_of(path: Path) -> Path:
    """The session's file for a sub-agent's.

    Raises:
        PassedOver: It is not where it should be; without it nobody knows what started this.
    """
    entry = first_line(path)
    session = entry.get("sessionId") if isinstance(entry, dict) else None
    for folder in (path.parent, *path.parents[2:4]):
        found = folder / f"{session}.jsonl"
        if session and found.is_file():
            return found
    raise PassedOver(path, f"the file of its session, {session}.jsonl, is not there")


def subagent_files(path: Path, session: str) -> list[Path]:
    """The files of what a session started."""
    inside = (path.parent / session).glob("subagents/**/agent-*.jsonl")
    beside = []
    for file in path.parent.glob("agent-*.jsonl"):
        entry = first_line(file)
        if isinstance(entry, dict) and entry.get("sessionId") == session:
            beside.append(file)
    return sorted([*inside, *beside])


def is_asked(entry: dict[str, Any], text: str) -> bool:
    """Whether a user's line is a request, and not what the program put there."""
    injected = ("isMeta", "isCompactSummary", "sourceToolUseID", "sourceToolAssistantUUID")
    return (
        bool(text)
        and not any(entry.get(key) for key in injected)
        and not text.startswith(_NOT_ASKED)
    )


def texts_of(content: Any, kind: str) -> list[str]:
    """Texts of the blocks of one kind."""
    return [
        str(block[kind])
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == kind and block.get(kind)
    ]


def merge_usage(
    call: Call, entry: dict[str, Any], message: dict[str, Any], *, failed: bool
) -> None:
    """The largest of what the lines of one call say, part by part."""
    raw = message.get("usage")
    if not isinstance(raw, dict) or failed:
        return
    read = as_count(raw.get("cache_read_input_tokens"))
    write = as_count(raw.get("cache_creation_input_tokens"))
    fresh, usage = as_count(raw.get("input_tokens")), call.usage
    whole = None if fresh is None else fresh + (read or 0) + (write or 0)
    usage.input, usage.cache_read = _most(usage.input, whole), _most(usage.cache_read, read)
    usage.cache_write = _most(usage.cache_write, write)
    usage.output = _most(usage.output, as_count(raw.get("output_tokens")))
    cost = entry.get("costUSD")
    if isinstance(cost, (int, float)) and not isinstance(cost, bool):
        call.cost = max(call.cost or 0.0, float(cost))


def _most(known: int | None, more: int | None) -> int | None:
    return more if known is None else known if more is None else max(known, more)
