"""Spans of one settle group as a forest: parents, children, and questions about what lies between.

Parents may come later, in another request, or never; everything here is worked out from scratch
from the spans that are there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from whyflame.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whyflame.model import Span

__all__ = ["Forest"]

WORK = (Kind.TOOL, Kind.AGENT)


class Forest:
    """Spans by index, with the index of the parent and of the children of each.

    Attributes:
        spans: As given.
        kinds: Of the spans.
        parent: Index of the parent, -1 for roots and for spans whose parent is not there.
        repeat_of: Index of the span that this one repeats (same trace and span id), -1 else.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans
        self.kinds = [span.kind for span in spans]
        self.repeat_of = [-1] * len(spans)
        self._times = [span.start_ns or span.end_ns or 0 for span in spans]
        self._by_id: dict[tuple[str, bytes], dict[bytes, int]] = {}
        self._index()
        self.parent = self._find_parents()
        if self._has_cycles():
            self._cut_cycles()

    @cached_property
    def children(self) -> list[list[int]]:
        """Indexes of the children of each, in order of start."""
        children: list[list[int]] = [[] for _ in self.spans]
        for index in self.by_start:
            if self.parent[index] >= 0:
                children[self.parent[index]].append(index)
        return children

    def _index(self) -> None:
        """The richest arrival of each id; the others repeat it."""
        repeated = False
        for index, span in enumerate(self.spans):
            ids = self._by_id.setdefault((span.tenant, span.trace_id), {})
            first = ids.setdefault(span.span_id, index)
            if first == index:
                continue
            repeated = True
            winner, loser = sorted((first, index), key=self._richness, reverse=True)
            ids[span.span_id] = winner
            self.repeat_of[loser] = winner
        if repeated:
            self._follow_repeats()

    def _follow_repeats(self) -> None:
        for index, other in enumerate(self.repeat_of):
            while other >= 0 and self.repeat_of[other] >= 0:
                other = self.repeat_of[index] = self.repeat_of[other]  # noqa: PLW2901 - follow chain

    def _richness(self, index: int) -> tuple[bool, int, int, str, int]:
        """Ended before pending, then more attributes; then anything that does not need order."""
        span = self.spans[index]
        end = span.end_ns or 0
        return (span.end_ns is not None, span.attributes_count, end, span.status, -span.span_key)

    def _find_parents(self) -> list[int]:
        parents = []
        for span, repeated in zip(self.spans, self.repeat_of, strict=True):
            if span.parent_id is None or repeated >= 0:
                parents.append(-1)
            else:
                ids = self._by_id[span.tenant, span.trace_id]
                parents.append(ids.get(span.parent_id, -1))
        return parents

    def _has_cycles(self) -> bool:
        """Whether ids lead back to themselves: somewhere there a parent does not begin earlier."""
        parent, times = self.parent, self._times
        walked = bytearray(len(parent))
        for index, above in enumerate(parent):
            if above < 0 or times[above] < times[index]:
                continue
            current, path = index, []
            while current >= 0 and not walked[current]:
                walked[current] = 1
                path.append(current)
                current = parent[current]
            if current >= 0 and walked[current] == 1:
                return True
            for passed in path:
                walked[passed] = 2
        return False

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

    @cached_property
    def by_start(self) -> list[int]:
        """All indexes, as `in_order` gives them."""
        return self.in_order(range(len(self.spans)))

    def in_order(self, indexes: Iterable[int]) -> list[int]:
        """By start time, then by ids, so that order of arrival does not matter."""
        times, spans = self._times, self.spans
        order = sorted(indexes, key=times.__getitem__)
        first = 0
        for at in range(1, len(order) + 1):
            if at < len(order) and times[order[at]] == times[order[first]]:
                continue
            if at - first > 1:
                order[first:at] = sorted(
                    order[first:at],
                    key=lambda index: (spans[index].trace_id, spans[index].span_id, index),
                )
            first = at
        return order

    @cached_property
    def top_down(self) -> list[int]:
        """Indexes, parents before children."""
        order: list[int] = []
        pending = [index for index in reversed(self.by_start) if self.parent[index] < 0]
        while pending:
            index = pending.pop()
            order.append(index)
            pending.extend(reversed(self.children[index]))
        return order

    def find(self, tenant: str, trace_id: bytes, span_id: bytes) -> int:
        """Index of a span by its ids, -1 when it is not there."""
        return self._by_id.get((tenant, trace_id), {}).get(span_id, -1)

    def inherit(self, own: Sequence[str | None]) -> list[str | None]:
        """What each span says itself, else the nearest one above it that says something."""
        if not any(own):
            return [None] * len(own)
        found, parent = list(own), self.parent
        known = bytearray(map(bool, own))
        for index in range(len(found)):
            current, path = index, []
            while current >= 0 and not known[current]:
                known[current] = True
                path.append(current)
                current = parent[current]
            if path:
                value = (found[current] or None) if current >= 0 else None
                for passed in path:
                    found[passed] = value
        return found

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
            between = between or self.kinds[ancestor] in WORK
        return False
