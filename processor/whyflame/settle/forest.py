"""Spans of one settle group as a forest: parents, children, and questions about what lies between.

Parents may come later, in another request, or never; everything here is worked out from scratch
from the spans that are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whyflame.model import Span

__all__ = ["Forest"]


class Forest:
    """Spans by index, with the index of the parent and of the children of each.

    Attributes:
        spans: As given.
        parent: Index of the parent, -1 for roots and for spans whose parent is not there.
        children: Indexes of children in order of start.
        repeat_of: Index of the span that this one repeats (same trace and span id), -1 else.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans
        self.repeat_of = [-1] * len(spans)
        self._by_start: list[int] = []
        self._by_id = self._index()
        self.parent = [self._find_parent(index) for index in range(len(spans))]
        self._cut_cycles()
        self.children: list[list[int]] = [[] for _ in spans]
        for index in self.by_start():
            if self.parent[index] >= 0:
                self.children[self.parent[index]].append(index)

    def _index(self) -> dict[tuple[str, bytes, bytes], int]:
        """The richest arrival of each id; the others repeat it."""
        found: dict[tuple[str, bytes, bytes], int] = {}
        for index, span in enumerate(self.spans):
            key = (span.tenant, span.trace_id, span.span_id)
            first = found.setdefault(key, index)
            if first == index:
                continue
            winner, loser = sorted((first, index), key=self._richness, reverse=True)
            found[key] = winner
            self.repeat_of[loser] = winner
        for index, other in enumerate(self.repeat_of):
            while other >= 0 and self.repeat_of[other] >= 0:
                other = self.repeat_of[index] = self.repeat_of[other]  # noqa: PLW2901 - follow chain
        return found

    def _richness(self, index: int) -> tuple[bool, int, int, str, int]:
        """Ended before pending, then more attributes; then anything that does not need order."""
        span = self.spans[index]
        end = span.end_ns or 0
        return (span.end_ns is not None, span.attributes_count, end, span.status, -span.span_key)

    def _find_parent(self, index: int) -> int:
        span = self.spans[index]
        if span.parent_id is None or self.repeat_of[index] >= 0:
            return -1
        return self._by_id.get((span.tenant, span.trace_id, span.parent_id), -1)

    def _cut_cycles(self) -> None:
        """Ids that lead back to themselves would loop for ever: the first such link is cut."""
        safe = [False] * len(self.spans)
        for index in range(len(self.spans)):
            seen: set[int] = set()
            current = index
            while current >= 0 and not safe[current]:
                if self.parent[current] in seen or self.parent[current] == current:
                    self.parent[current] = -1
                seen.add(current)
                current = self.parent[current]
            for visited in seen:
                safe[visited] = True

    def by_start(self) -> list[int]:
        """Indexes by start time, then by ids, so that order of arrival does not matter."""
        if not self._by_start:
            spans = self.spans
            self._by_start = sorted(
                range(len(spans)),
                key=lambda index: (
                    spans[index].start_ns or spans[index].end_ns or 0,
                    spans[index].trace_id,
                    spans[index].span_id,
                    index,
                ),
            )
        return self._by_start

    def find(self, tenant: str, trace_id: bytes, span_id: bytes) -> int:
        """Index of a span by its ids, -1 when it is not there."""
        return self._by_id.get((tenant, trace_id, span_id), -1)

    def ancestors(self, index: int) -> Iterator[int]:
        """Indexes from the parent up to the root."""
        current = self.parent[index]
        while current >= 0:
            yield current
            current = self.parent[current]

    def nearest(
        self, index: int, wanted: Callable[[int], bool], through: Callable[[int], bool]
    ) -> int:
        """The nearest wanted ancestor with only spans between that `through` accepts, or -1."""
        for ancestor in self.ancestors(index):
            if wanted(ancestor):
                return ancestor
            if not through(ancestor):
                return -1
        return -1

    def has_below(self, index: int, wanted: Callable[[int], bool]) -> bool:
        """True when a descendant is wanted."""
        pending = list(self.children[index])
        while pending:
            current = pending.pop()
            if wanted(current):
                return True
            pending.extend(self.children[current])
        return False

    def crosses_work(self, outer: int, inner: int) -> bool:
        """True when `inner` lies below `outer` with a tool or an agent between them."""
        between = False
        for ancestor in self.ancestors(inner):
            if ancestor == outer:
                return between
            between = between or self.spans[ancestor].kind in (Kind.TOOL, Kind.AGENT)
        return False
