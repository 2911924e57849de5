"""Chat messages in JSON, however a framework nests them: roles, texts, tool calls asked for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

__all__ = [
    "RESULT_TYPES",
    "ROLES",
    "Message",
    "asked_calls",
    "flatten_text",
    "newest_user",
    "only_speaks",
    "walk_messages",
]

ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CLASSES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "ChatMessage": "user",
}
RESULT_TYPES = frozenset(
    {
        "tool_result",
        "tool_call_response",
        "tool-result",
        "function_response",
        "function_call_output",
        "toolresult",
    }
)
_RESULT_KEYS = ("toolResult", "functionResponse", "function_response", "tool_call_id")
_CALL_TYPES = frozenset(
    {
        "tool_call",
        "tool_use",
        "tool-call",
        "function_call",
        "toolcall",
        "function",
        "server_tool_use",
    }
)
_CALL_KEYS = ("toolUse", "functionCall", "function_call", "toolCall")
_ID_KEYS = ("call_id", "id", "toolUseId", "toolCallId", "tool_call_id", "tool_use_id")
_LISTS = (
    "messages",
    "inputs",
    "input",
    "contents",
    "prompt",
    "message",
    "data",
    "kwargs",
    "outputs",
)
_DEPTH = 12


class Message(NamedTuple):
    """One message: canonical role, and the object that holds its content or parts."""

    role: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All its text."""
        return flatten_text(self.body.get("parts", self.body.get("content")))

    @property
    def is_result(self) -> bool:
        """True when a message of role user only brings back what tools returned."""
        return _is_result(self.body)


def role_of(message: dict[str, Any]) -> str | None:
    """Canonical role of a message object; None when it is none."""
    role = message.get("role") or message.get("type")
    if isinstance(role, dict):
        role = role.get("value")
    if isinstance(role, str):
        known = ROLES.get(role) or ROLES.get(role.rsplit(".", 1)[-1].lower())
        if known:
            return known
    path = message.get("id")
    if isinstance(path, list) and path and isinstance(path[-1], str):
        return _CLASSES.get(path[-1])
    return None


def flatten_text(content: Any, depth: int = 0) -> str:
    """All text of a message's content, parts joined by line breaks."""
    if isinstance(content, str):
        return content
    if depth > _DEPTH:
        return ""
    if isinstance(content, list):
        if len(content) == 1:
            return flatten_text(content[0], depth + 1)
        return "\n".join(filter(None, (flatten_text(part, depth + 1) for part in content)))
    if isinstance(content, dict):
        for key in ("text", "content", "parts", "value", "thinking"):
            if key in content:
                return flatten_text(content[key], depth + 1)
    return ""


def _parts(message: dict[str, Any]) -> list[Any]:
    for key in ("parts", "content", "contents"):
        parts = message.get(key)
        if isinstance(parts, list):
            return parts
    return []


def _is_result(message: dict[str, Any]) -> bool:
    if message.get("tool_call_id"):
        return True
    parts = _parts(message)
    return bool(parts) and all(isinstance(part, dict) and _is_result_part(part) for part in parts)


def _is_result_part(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    if kind == "text":
        return False
    return str(kind).lower() in RESULT_TYPES or any(part.get(key) for key in _RESULT_KEYS)


def walk_messages(value: Any) -> list[Message]:
    """The messages in a parsed value, in order."""
    found: list[Message] = []
    _walk(value, found, 0)
    return found


def _walk(value: Any, found: list[Message], depth: int) -> None:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _walk(item, found, depth + 1)
    elif isinstance(value, dict):
        role = role_of(value)
        body = _body(value) if role else None
        if role and body is not None:
            found.append(Message(role, body))
        else:
            _walk_members(value, found, depth + 1)


def _walk_members(value: dict[str, Any], found: list[Message], depth: int) -> None:
    before = len(found)
    for key in _LISTS:
        inner = value.get(key)
        if isinstance(inner, (list, dict)):
            _walk(inner, found, depth)
            if len(found) > before:
                return


def _body(value: dict[str, Any]) -> dict[str, Any] | None:
    """Where the content of a message stands: in itself, or in LangChain's `kwargs` or `data`."""
    for candidate in (value, value.get("kwargs"), value.get("data")):
        if isinstance(candidate, dict) and ("content" in candidate or "parts" in candidate):
            return candidate
    return None


def only_speaks(message: Message) -> bool:
    """True when a message consists of text alone: it asks for no tool."""
    if "tool_calls" in message.body or "additional_kwargs" in message.body:
        return False
    parts = _parts(message.body)
    return bool(parts) and all(
        isinstance(part, dict) and part.get("type") == "text" for part in parts
    )


def newest_user(messages: list[Message]) -> tuple[str | None, int | None]:
    """(text of the newest real user message, how many there are); (None, None) without messages."""
    users = [message for message in messages if message.role == "user" and not message.is_result]
    if not messages:
        return None, None
    return (users[-1].text if users else None), len(users)


def _call_id(part: dict[str, Any]) -> str | None:
    for key in _ID_KEYS:
        found = part.get(key)
        if isinstance(found, str) and found:
            return found
    return None


def asked_calls(value: Any, depth: int = 0) -> list[str]:
    """Ids of the tool calls that a response asks for, in order, each once."""
    found: dict[str, None] = {}
    _collect(value, found, depth)
    return list(found)


def _collect(value: Any, found: dict[str, None], depth: int) -> None:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _collect(item, found, depth + 1)
    elif isinstance(value, dict):
        is_call = str(value.get("type", "")).lower() in _CALL_TYPES or "toolCallId" in value
        if is_call and _note_call(value, found):
            return
        for key, inner in value.items():
            _collect_member(key, inner, found, depth + 1)


def _note_call(call: Any, found: dict[str, None]) -> bool:
    """Remembers the id of a tool call object; False when it has none."""
    known = _call_id(call) if isinstance(call, dict) else None
    if known:
        found.setdefault(known)
    return known is not None


def _collect_member(key: str, inner: Any, found: dict[str, None], depth: int) -> None:
    if key == "tool_calls" and isinstance(inner, list):
        for call in inner:
            _note_call(call, found)
    elif key in _CALL_KEYS:
        _note_call(inner, found)
    elif isinstance(inner, (list, dict)):
        _collect(inner, found, depth)


# Producers that build JSON by hand forget to escape line breaks.
_DECODER = json.JSONDecoder(strict=False)


def parse(text: str) -> Any:
    """JSON, or None."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
