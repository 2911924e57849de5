"""Views of one call inside one trace: wrappers around a call, wrappers around a tool, double agents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from whyflame.model import Span
    from whyflame.settle.ledger import Ledger

__all__ = [
    "CALLS",
    "drop_stubs",
    "find_hosted_agents",
    "is_call",
    "merge_nested_agents",
    "merge_nested_calls",
    "merge_nested_tools",
    "same_tool",
]

CALLS = (Kind.LLM, Kind.EMBED)
# What a call cannot be seen through.
_OPAQUE = frozenset({Kind.TOOL, Kind.AGENT, Kind.CONTROL})
_WRAPPERS = frozenset({Kind.OTHER, Kind.PROMPT})
_CHAINS = frozenset({"langfuse", "langsmith", "mlflow", "openinference", "traceai"})
_SEPARATORS = re.compile(r"[^0-9a-z]+")


def is_call(span: Span) -> bool:
    """True for model and embedding calls."""
    return span.kind in CALLS


def drop_stubs(ledger: Ledger) -> None:
    """A model span without usage, response or error made no call (a request being prepared)."""
    for index in ledger.open_of(CALLS):
        span = ledger.spans[index]
        if not (span.answered or span.status is Status.ERROR or _reports_usage(span)):
            ledger.drop(index, "no_response")


def _reports_usage(span: Span) -> bool:
    """Figures arrived, even if only a total, or ones that nobody can believe."""
    return (
        span.has_usage
        or "unsplit_total" in span.extra
        or any(reason.startswith("number_") for reason in span.dubious)
    )


def merge_nested_calls(ledger: Ledger) -> None:
    """An LLM span with LLM spans below it, reached without passing a tool or agent, wraps them.

    One span below: two views of one call. Several: the outer one frames several calls.
    """
    forest, spans = ledger.forest, ledger.spans
    inner_of: dict[int, list[int]] = {}
    for index in _below(ledger, CALLS, _OPAQUE, inside=False):
        kind = spans[index].kind

        def is_outer(other: int, kind: Kind = kind) -> bool:
            return spans[other].kind is kind and ledger.is_open(other)

        outer = forest.nearest(index, is_outer, lambda other: spans[other].kind not in _OPAQUE)
        if outer >= 0:
            inner_of.setdefault(outer, []).append(index)
    depth = {outer: sum(1 for _ in forest.ancestors(outer)) for outer in inner_of}
    for outer in sorted(inner_of, key=lambda index: (-depth[index], index)):
        inner = inner_of[outer]
        if len(inner) == 1:
            ledger.merge(outer, inner[0], "same_call")
        elif any(spans[index].has_usage for index in inner) or not spans[outer].has_usage:
            ledger.drop(outer, "wrapper")
        else:
            for index in inner:
                ledger.merge(outer, index, "same_call")


def _below(
    ledger: Ledger, kinds: Container[Kind], parents: Container[Kind], *, inside: bool
) -> list[int]:
    """Open spans of these kinds whose parent is (not) of those kinds, in order of start.

    Mostly there are none, so that nothing has to be walked.
    """
    forest = ledger.forest
    parent, found = forest.parent, forest.kinds
    chosen = [
        index
        for index in ledger.open_of(kinds)
        if parent[index] >= 0 and (found[parent[index]] in parents) is inside
    ]
    return forest.in_order(chosen)


def find_hosted_agents(ledger: Ledger) -> None:
    """A chain right below a tool, with model calls of its own, is the sub-agent that the tool runs.

    Producers that know chains but no agents say so only in metadata, which may be masked.
    """
    forest, spans = ledger.forest, ledger.spans
    parent, kinds = forest.parent, forest.kinds
    ledger.hosted = frozenset(
        index
        for index, kind in enumerate(kinds)
        if kind is Kind.OTHER
        and parent[index] >= 0
        and kinds[parent[index]] is Kind.TOOL
        and spans[index].dialect in _CHAINS
        and forest.has_below(index, lambda other: is_call(spans[other]))
        and not forest.has_below(index, lambda other: spans[other].kind is Kind.AGENT)
    )


def tool_words(name: str | None) -> tuple[str, ...]:
    """A tool's name in comparable words: "Plugin-search_docs" -> ("plugin", "search", "docs")."""
    if not name:
        return ()
    return tuple(word for word in _SEPARATORS.split(name.lower()) if word)


def same_tool(left: str | None, right: str | None) -> bool:
    """True when one name is the other, perhaps with a plug-in or server name in front."""
    a, b = tool_words(left), tool_words(right)
    if not a or not b:
        return False
    short, long = sorted((a, b), key=len)
    return long[-len(short) :] == short


def merge_nested_tools(ledger: Ledger) -> None:
    """Nested spans of one tool run (framework, MCP client, MCP server, execution) are one."""
    for head, outer, inner in _nested(ledger, Kind.TOOL):
        if ledger.why[head] is None and _is_same_run(ledger, head, outer, inner):
            ledger.merge(head, inner, "same_call")


def _nested(ledger: Ledger, kind: Kind) -> Iterator[tuple[int, int, int]]:
    """Open spans of a kind with another one above, wrappers between them: (its head, it, the span).

    From the top down, so that what was merged with the outer one counts for the inner one.
    """
    forest, spans = ledger.forest, ledger.spans
    if not _below(ledger, (kind,), {kind, *_WRAPPERS}, inside=True):
        return
    for index in forest.top_down:
        if spans[index].kind is kind and ledger.is_open(index):
            outer = forest.nearest(
                index,
                lambda other: spans[other].kind is kind,
                lambda other: spans[other].kind in _WRAPPERS,
            )
            if outer >= 0:
                yield ledger.head[outer], outer, index


def _is_same_run(ledger: Ledger, head: int, outer: int, inner: int) -> bool:
    """Equal call ids, or equal names without ids that contradict; nameless spans only add detail."""
    spans = ledger.spans
    calls = {spans[view].call_id for view in ledger.views_of(head)} - {None}
    if spans[inner].call_id is not None and calls:
        return spans[inner].call_id in calls
    if spans[inner].tool is None:
        return outer == ledger.forest.parent[inner] or spans[inner].scope == spans[outer].scope
    names = [spans[view].tool for view in ledger.views_of(head) if spans[view].tool]
    return not names or any(same_tool(name, spans[inner].tool) for name in names)


def merge_nested_agents(ledger: Ledger) -> None:
    """Two nested spans of one agent run (invoke_agent and workflow) are one run."""
    spans = ledger.spans
    for head, _, inner in _nested(ledger, Kind.AGENT):
        if spans[inner].agent is None or spans[inner].agent == spans[head].agent:
            ledger.merge(head, inner, "wrapper")
