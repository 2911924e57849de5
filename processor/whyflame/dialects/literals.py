"""Structured values that producers write as text: JSON, or the `repr` of a Python object."""

from __future__ import annotations

import ast
import json
from typing import Any

__all__ = ["dig", "parse_literal"]

_LIMIT = 1 << 20


def parse_literal(value: Any) -> Any:
    """Dicts and lists as they are; text as JSON, else as a Python literal; None otherwise."""
    if isinstance(value, (dict, list)):
        return value
    if not isinstance(value, str) or not value[:1] or value[0] not in "[{(" or len(value) > _LIMIT:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def dig(value: Any, *path: str | int) -> Any:
    """The value at a path of keys and indexes; None where the path ends early."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
