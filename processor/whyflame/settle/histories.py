"""What a coding agent's history tells once more of what it sent live.

The live operation counts: it may be in a backend already, and has its place, cost and outcome. The
history's is a further view, which lends it the text. What only the history has counts from there.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from whyflame.model import Kind, Status
from whyflame.settle.sessions import known_sessions

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from whyflame.model import Span
    from whyflame.settle.ledger import Ledger

__all__ = ["match_histories"]

HISTORY_SCOPE = "whyflame.history."
"""Beginning of the scope of what importers make of histories."""

NEAR_NS = 5_000_000_000
"""How far apart both may write the end of a call that no id tells."""

_WORK = (Kind.LLM, Kind.EMBED, Kind.TOOL)


def match_histories(ledger: Ledger) -> None:
    """Merges what both tell: by the ids of the provider, calls without one by usage and time."""
    spans = ledger.spans
    told = [index for index in ledger.open_of(_WORK) if _is_history(spans[index])]
    if not told or len(told) == len(spans):
        return
    told = ledger.forest.in_order(told)
    live = [index for index in ledger.open_of(_WORK) if not _is_history(spans[index])]
    matching = _Matching(ledger, ledger.forest.in_order(live))
    left = [index for index in told if not matching.by_id(index)]
    for index in left:
        matching.by_usage(index)
    if matching.taken:
        _drop_frames(ledger, told)


def _is_history(span: Span) -> bool:
    return span.scope.startswith(HISTORY_SCOPE)


class _Matching:
    """Live operations that no operation of a history was matched with yet.

    Args:
        ledger: With nested views merged. live: Heads, in order of start.
    """

    def __init__(self, ledger: Ledger, live: Sequence[int]) -> None:
        self._ledger = ledger
        self._sessions = known_sessions(ledger.forest)
        self.taken: set[int] = set()
        self._by_id: dict[Hashable, list[int]] = defaultdict(list)
        self._by_usage: dict[Hashable, list[int]] = defaultdict(list)
        for index in live:
            for key in self._id_keys(index):
                self._by_id[key].append(index)
            if (usage := self._usage_key(index)) is not None:
                self._by_usage[usage].append(index)

    def by_id(self, index: int) -> bool:
        """Match by the id of the tool call or response; False when no live operation has it."""
        for key in self._id_keys(index):
            for other in self._by_id.get(key, ()):
                if other not in self.taken:
                    self._take(other, index)
                    return True
        return False

    def by_usage(self, index: int) -> None:
        """Match a call with one of equal usage that ended about then, and has no id that differs.

        Of two failed calls nothing is used: the time tells.
        """
        key = self._usage_key(index)
        ids = set(self._id_keys(index))
        near = [
            (abs(self._end(other) - self._end(index)), other)
            for other in self._by_usage.get(key, ())
            if other not in self.taken and not (ids and any(self._id_keys(other)))
        ]
        distance, other = min(near, default=(NEAR_NS, -1))
        if distance < NEAR_NS:
            self._take(other, index)

    def _take(self, live: int, told: int) -> None:
        self.taken.add(live)
        self._ledger.merge(live, told, "other_signal")

    def _views(self, index: int) -> Iterator[Span]:
        return (self._ledger.spans[view] for view in self._ledger.views_of(index))

    def _owner(self, index: int) -> Hashable:
        return self._ledger.spans[index].tenant, self._sessions[index]

    def _id_keys(self, index: int) -> list[Hashable]:
        """Keys of the ids that the views of an operation know; none without a session."""
        if self._sessions[index] is None:
            return []
        is_tool = self._ledger.spans[index].kind is Kind.TOOL
        ids = [view.call_id if is_tool else view.response_id for view in self._views(index)]
        owner = self._owner(index)
        return [(owner, is_tool, known) for known in dict.fromkeys(ids) if known]

    def _usage_key(self, index: int) -> Hashable | None:
        """Input and output of a model call in all their parts, or that it failed; else None."""
        if self._sessions[index] is None or self._ledger.spans[index].kind is Kind.TOOL:
            return None
        for span in self._views(index):
            if span.input_uncached is not None and span.output_visible is not None:
                read = (span.input_uncached, span.cache_read, span.cache_write)
                written = (span.output_visible, span.reasoning)
                return self._owner(index), sum(map(_known, read)), sum(map(_known, written))
        failed = any(span.status is Status.ERROR for span in self._views(index))
        return (self._owner(index), "failed") if failed else None

    def _end(self, index: int) -> int:
        span = self._ledger.spans[index]
        return span.end_ns or span.start_ns or 0


def _known(part: int | None) -> int:
    return part or 0


def _drop_frames(ledger: Ledger, told: Sequence[int]) -> None:
    """The history's own agents whose own calls all count elsewhere frame nothing.

    An importer puts all that an agent did right below it; what lies deeper is another agent's.
    """
    forest, spans = ledger.forest, ledger.spans
    work = set(told)
    for index in ledger.open_of((Kind.AGENT,)):
        if not _is_history(spans[index]):
            continue
        own = [child for child in forest.children[index] if child in work]
        if own and not any(ledger.is_open(child) for child in own):
            ledger.drop(index, "other_signal")
