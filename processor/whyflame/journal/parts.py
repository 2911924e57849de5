"""How many parts a request may have: resources, scopes, and the spans or records in them.

Two bytes make an empty span, which takes half a thousand times as much memory once it is read. So parts are
counted in the encoded request, before anything is made of them, and no further than to the bound.
"""

from __future__ import annotations

from whyflame.errors import PermanentError
from whyflame.wire import read_varint

__all__ = ["MAX_PARTS", "check_parts", "too_many_parts"]

MAX_PARTS = 200_000
ITEMS, GROUPS = 2, 1
"""Depths: down to spans, which takes 0.3 us each, or to scopes, where something else counts them."""

# The field that holds the next level, in a request and in a resource, whatever the signal.
_INNER = (1, 2)
_SMALLEST_PART = 2
_FIXED = {1: 8, 5: 4}  # wire types
_LENGTH_FIRST, _NUMBER = 2, 0


def too_many_parts() -> PermanentError:
    """The refusal of a request with more parts than are read at a time."""
    return PermanentError(
        f"request holds more than {MAX_PARTS} spans, records, scopes and resources: send smaller ones",
        "too_large",
    )


def check_parts(payload: bytes, depth: int = ITEMS) -> None:
    """Let a request pass that has no more parts than may be.

    What is malformed passes too: whoever reads it says so.

    Args:
        payload: Protobuf of any signal. depth: `ITEMS` or `GROUPS`.

    Raises:
        PermanentError: There are more (`too_large`).
    """
    if len(payload) > _SMALLEST_PART * MAX_PARTS and _count(payload, depth) > MAX_PARTS:
        raise too_many_parts()


def _count(payload: bytes, depth: int) -> int:
    """Fields of these levels, unknown ones too, and at most one more than may be."""
    found = 0
    waiting = [(0, len(payload), 0)]
    try:
        while waiting:
            at, end, level = waiting.pop()
            while at < end and found <= MAX_PARTS:
                tag, at = read_varint(payload, at)
                size, at = _content(payload, at, tag & 7)
                found += 1
                if level < depth and tag == _INNER[level] << 3 | _LENGTH_FIRST:
                    waiting.append((at, min(at + size, end), level + 1))
                at += size
    except ValueError:
        pass
    return found


def _content(payload: bytes, at: int, wire: int) -> tuple[int, int]:
    """How long a field's content is, and where it begins."""
    if wire == _LENGTH_FIRST:
        return read_varint(payload, at)
    if wire == _NUMBER:
        return 0, read_varint(payload, at)[1]
    if wire not in _FIXED:
        raise ValueError
    return _FIXED[wire], at
