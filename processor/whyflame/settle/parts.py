"""Parts of a settle group that no rule on structure looks across."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation

__all__ = ["split"]

PART_OPERATIONS = 512
"""Operations of a part, about: few enough that all rules find them in the processor's cache, where
walking over a group of 32,000 again and again does not; more cost less to begin."""


def split(operations: Sequence[Operation]) -> list[Sequence[Operation]]:
    """Whole sessions and whole traces, in the order of their starts, packed into parts."""
    if len(operations) <= PART_OPERATIONS:
        return [operations]
    sessions: dict[str, list[Operation]] = {}
    first_of: dict[bytes, str] = {}
    shared: set[tuple[str, str]] = set()
    for operation in operations:
        session = operation.session
        members = sessions.get(session)
        if members is None:
            members = sessions[session] = []
        members.append(operation)
        first = first_of.setdefault(operation.span.trace_id, session)
        if first != session:
            shared.add((first, session))
    return _pack(_join(sessions, shared))


def _join(
    sessions: dict[str, list[Operation]], shared: set[tuple[str, str]]
) -> list[list[Operation]]:
    """Sessions that share a trace become one; in an order that no arrival changes."""
    into: dict[str, str] = {}

    def root(name: str) -> str:
        while name in into:
            # Halve the way for the next one.
            into[name] = name = into.get(into[name], into[name])
        return name

    for pair in sorted(shared):
        left, right = sorted((root(pair[0]), root(pair[1])))
        if left != right:
            into[right] = left
    for name in sorted(into):
        sessions[root(name)] += sessions.pop(name)
    starts = sorted((_start(members), name) for name, members in sessions.items())
    return [sessions[name] for _, name in starts]


def _start(operations: Sequence[Operation]) -> int:
    return min(operation.span.start_ns or operation.span.end_ns or 0 for operation in operations)


def _pack(groups: Sequence[list[Operation]]) -> list[Sequence[Operation]]:
    parts: list[Sequence[Operation]] = []
    part: list[Operation] = []
    for members in groups:
        part += members
        if len(part) >= PART_OPERATIONS:
            parts.append(part)
            part = []
    if part:
        parts.append(part)
    return parts
