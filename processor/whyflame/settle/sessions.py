"""Which session an operation belongs to: the outermost id in its trace, never a made-up one.

An explicit session id and a conversation id are equal in rank when they stand at different heights:
sub-agents get conversation ids of their own, so the outermost span that carries any id decides, and
on that span the explicit one. Everything is worked out again whenever spans are added.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whyflame.settle.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation, Span

__all__ = ["known_sessions", "resolve_sessions"]

_RESPONSE_PREFIXES = ("resp_", "chatcmpl-", "msg_", "gen-")
_FALLBACK = "trace:"


def _is_session(value: str | None, response_ids: frozenset[str]) -> bool:
    """False for ids that producers put where a session belongs: a previous response's id."""
    return bool(value) and value not in response_ids and not value.startswith(_RESPONSE_PREFIXES)  # type: ignore[union-attr]


def _own(span: Span, response_ids: frozenset[str]) -> str | None:
    for value in (span.session, span.conversation):
        if _is_session(value, response_ids):
            return value
    return None


def known_sessions(forest: Forest) -> list[str | None]:
    """The session of each span by index; None where its trace carries no id."""
    spans = forest.spans
    found = _outermost(forest, _own_sessions(spans))
    if None in found:
        _fill_from_trace(forest, found)
        _fill_from_links(forest, found)
        for index, span in enumerate(spans):
            if found[index] is None:
                found[index] = span.extra.get("resource_session")
    return found


def _own_sessions(spans: Sequence[Span]) -> list[str | None]:
    response_ids = frozenset(span.response_id for span in spans if span.response_id)
    known: dict[tuple[str | None, str | None], str | None] = {}
    own = []
    for span in spans:
        key = (span.session, span.conversation)
        if key not in known:
            known[key] = _own(span, response_ids)
        own.append(known[key])
    return own


def _outermost(forest: Forest, own: list[str | None]) -> list[str | None]:
    """What the outermost span that has something says, for each span."""
    found: list[str | None] = [None] * len(own)
    known = bytearray(len(own))
    parent = forest.parent
    for index, outer in enumerate(parent):
        if outer < 0 or known[outer]:
            # The usual case: what is above is known already.
            found[index] = (found[outer] if outer >= 0 else None) or own[index]
            known[index] = True
            continue
        chain: list[int] = []
        current = index
        while current >= 0 and not known[current]:
            chain.append(current)
            current = parent[current]
        best = found[current] if current >= 0 else None
        for below in reversed(chain):
            best = found[below] = best or own[below]
            known[below] = True
    return found


def _fill_from_trace(forest: Forest, found: list[str | None]) -> None:
    """Spans whose root has no id take the one that most spans of their trace have."""
    by_trace: dict[bytes, Counter[str]] = {
        span.trace_id: Counter()
        for span, session in zip(forest.spans, found, strict=True)
        if session is None
    }
    for span, session in zip(forest.spans, found, strict=True):
        if session is not None and span.trace_id in by_trace:
            by_trace[span.trace_id][session] += 1
    most = {
        trace_id: min(counts.items(), key=lambda item: (-item[1], item[0]))[0]
        for trace_id, counts in by_trace.items()
        if counts
    }
    for index, span in enumerate(forest.spans):
        if found[index] is None:
            found[index] = most.get(span.trace_id)


def _fill_from_links(forest: Forest, found: list[str | None]) -> None:
    """A root that only links to where it came from belongs to that session, with all below it."""
    for index in forest.by_start:
        if found[index] is not None:
            continue
        parent = forest.parent[index]
        if parent >= 0:
            found[index] = found[parent]
            continue
        span = forest.spans[index]
        for trace_id, span_id in span.links:
            linked = forest.find(span.tenant, trace_id, span_id)
            if linked >= 0 and found[linked] is not None:
                found[index] = found[linked]
                break


def resolve_sessions(operations: Sequence[Operation], forest: Forest | None = None) -> None:
    """Fills `session`, `session_known`, `user` and `agent` of operations that were counted.

    Views of one call share what any of them knows: an SDK that traces itself makes a trace of its
    own without session, which belongs where the framework's view of the call is.

    Args:
        operations: From `count`, in its order.
        forest: Of the same spans, when it is there already.
    """
    if forest is None:
        forest = Forest([operation.span for operation in operations])
    sessions = known_sessions(forest)
    heads = _heads(operations)
    _share_among_views(heads, sessions)
    users = forest.inherit([span.user for span in forest.spans])
    for operation, session, user in zip(operations, sessions, users, strict=True):
        operation.session_known = session is not None
        operation.session = session or _FALLBACK + operation.span.trace_id.hex()
        operation.user = user
    # Without any id, a further view still goes where the view that counts is.
    for index, head in heads:
        if not operations[index].session_known:
            operations[index].session = operations[head].session


def _heads(operations: Sequence[Operation]) -> list[tuple[int, int]]:
    """Further views with the view that counts, both as indexes."""
    views = [index for index, operation in enumerate(operations) if operation.same_as is not None]
    if not views:
        return []
    by_key: dict[int | None, int] = {
        operation.span.span_key: index for index, operation in enumerate(operations)
    }
    pairs = [(index, by_key.get(operations[index].same_as)) for index in views]
    return [(index, head) for index, head in pairs if head is not None]


def _share_among_views(heads: Sequence[tuple[int, int]], sessions: list[str | None]) -> None:
    for index, head in heads:
        if head != index and sessions[head] is None:
            sessions[head] = sessions[index]
    for index, head in heads:
        if sessions[head] is not None:
            sessions[index] = sessions[head]
