"""Evidence frames: what an operation did, as verb and name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.model import Operation

__all__ = ["find_leaf", "is_hand_off"]

HAND_OFF = re.compile(r"hand[_ -]?off|transfer(?:red|s)?[_ -]to|delegate", re.IGNORECASE)
TARGET = re.compile(
    r"(?:hand[_ -]?off|transfer|delegate)(?:[_ -]task)?[_ -]to[_ -]+(?P<to>[^\s(]+)", re.IGNORECASE
)
# Targets that name no one: the agent stands in the arguments, which may be hidden.
NO_ONE = frozenset({"agent", "member", "members", "unknown", "none", "coworker"})


def find_leaf(operation: Operation) -> str | None:
    """The frame below the semantic path; None for structure."""
    match operation.kind:
        case Kind.LLM:
            return f"call {operation.model or 'model'}"
        case Kind.TOOL:
            return f"run {operation.tool or 'tool'}"
        case Kind.EMBED:
            return f"embed {operation.model or 'text'}"
        case Kind.CONTROL:
            return _hand_off(operation)
        case Kind.FILE | Kind.NETWORK | Kind.PROCESS | Kind.PROMPT:
            return _effect(operation)
        case Kind.AGENT | Kind.OTHER:
            return None


def is_hand_off(operation: Operation) -> bool:
    """True for a control call that gives the conversation to another agent."""
    if operation.kind is not Kind.CONTROL:
        return False
    return bool(HAND_OFF.search(operation.tool or "") or HAND_OFF.search(operation.span.name))


def _hand_off(operation: Operation) -> str | None:
    if not is_hand_off(operation):
        return None
    for text in (operation.tool, operation.span.name):
        found = TARGET.search(text or "")
        if found and found["to"].lower() not in NO_ONE:
            return f"hand off to {found['to']}"
    return "hand off"


def _effect(operation: Operation) -> str | None:
    span = operation.span
    match operation.kind:
        case Kind.FILE:
            return f"{span.effect or 'touch'} {span.path_group or 'files'}"
        case Kind.NETWORK:
            return f"reach {span.domain or 'network'}"
        case Kind.PROCESS:
            return f"run {operation.tool or 'process'}"
        case _:
            return None
