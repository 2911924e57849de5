"""The book-keeping of counting: which spans are views of one thing, which do not count and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.settle.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from whyflame.model import Kind, Span

__all__ = ["REASONS", "Ledger"]

REASONS = (
    "repeated",  # same trace and span id once more
    "wrapper",  # frames calls that are seen themselves
    "same_call",  # another view of a call or tool run that counts
    "mirror",  # the same call as seen by another service
    "other_signal",  # the same operation counts from spans (or from log events)
    "no_response",  # a model span without response, usage or error: no call was made
    "not_agent_work",  # neither a call nor a tool nor an agent
    "prompt",  # a user's message: marks a turn, costs nothing
    "message",  # text of a call, which has it now
)
"""Why a span is not counted; closed set."""


class Ledger:
    """Decisions about the spans of one settle group, by index.

    Attributes:
        why: Reason for not counting, None while a span counts.
        head: Index of the view that stands for this one; its own index for a head.
        views: Views of each head with more than itself, outermost first.
        hosted: Chains that turned out to be the root of a sub-agent inside a tool.
    """

    def __init__(self, spans: Sequence[Span], forest: Forest | None = None) -> None:
        self.spans = spans
        self.forest = forest or Forest(spans)
        self.why: list[str | None] = [None] * len(spans)
        self.head = list(range(len(spans)))
        self.views: dict[int, list[int]] = {}
        self.hosted: frozenset[int] = frozenset()
        for index, original in enumerate(self.forest.repeat_of):
            if original >= 0:
                self.why[index] = "repeated"
                self.head[index] = original

    def is_open(self, index: int) -> bool:
        """True while nothing speaks against counting this span."""
        return self.why[index] is None

    def open_of(self, kinds: Container[Kind]) -> list[int]:
        """Open spans of these kinds, in order of index."""
        why = self.why
        return [
            index
            for index, kind in enumerate(self.forest.kinds)
            if kind in kinds and why[index] is None
        ]

    def drop(self, index: int, why: str) -> None:
        """This span does not count."""
        self.why[index] = why

    def merge(self, outer: int, inner: int, why: str) -> None:
        """`inner` and its views are further views of `outer`, which counts for all."""
        if outer == inner:
            # A head can stand below its own view: an event inside the span that it counts for.
            return
        views = self.views.setdefault(outer, [outer])
        for view in self.views.pop(inner, [inner]):
            views.append(view)
            self.head[view] = outer
            self.why[view] = why if self.why[view] is None else self.why[view]

    def views_of(self, index: int) -> list[int]:
        """All views of a head, outermost first; itself alone when there are no others."""
        return self.views.get(index, [index])
