"""Items of plan and todo tool calls: an agent's own marks of what it is doing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from whyflame.dialects.literals import parse_literal

__all__ = ["keeps_plan", "plan_items"]

_TOOLS = re.compile(
    r"(?:^|[_.:\W])(?:todo_?write|write_?todos?|update_?todos?|todo_?list|todos?|update_?plan|"
    r"set_?plan|create_?plan|write_?plan|plan|task_?tracker|task_?list|manage_?todo(?:_?list)?)$",
    re.IGNORECASE,
)
_LISTS = ("todos", "plan", "tasks", "task_list", "todo_list", "items", "steps", "todoList")
_TEXTS = ("content", "step", "title", "task", "text", "description", "name")
_MAX_ITEMS, _MAX_TEXT, _MAX_STATUS = 32, 80, 16


@lru_cache(maxsize=4096)
def keeps_plan(tool: str | None) -> bool:
    """True when the tool's name says that its arguments are a plan or todo list."""
    return tool is not None and _TOOLS.search(tool) is not None


def plan_items(arguments: str) -> tuple[tuple[str, str], ...]:
    """((text, status), ...) of the arguments of a planning tool; empty when they cannot be read."""
    return _items(parse_literal(arguments), 3)


def _items(value: Any, depth: int) -> tuple[tuple[str, str], ...]:
    if isinstance(value, list):
        items = (_item(entry) for entry in value[:_MAX_ITEMS])
        return tuple(item for item in items if item)
    if not isinstance(value, dict) or not depth:
        return ()
    for key in _LISTS:
        found = _items(parse_literal(value.get(key)), depth - 1)
        if found:
            return found
    for key in ("input", "args", "kwargs", "arguments", "parameters"):
        found = _items(parse_literal(value.get(key)), depth - 1)
        if found:
            return found
    return ()


def _item(entry: Any) -> tuple[str, str] | None:
    if isinstance(entry, str):
        return (entry[:_MAX_TEXT], "") if entry else None
    if not isinstance(entry, dict):
        return None
    text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), "")
    status = entry.get("status") or entry.get("state") or ""
    return (text[:_MAX_TEXT], str(status)[:_MAX_STATUS]) if text else None
