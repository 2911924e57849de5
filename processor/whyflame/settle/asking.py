"""Which model call asked for a tool call, when only time can tell."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.settle.tree import Tree

__all__ = ["Asking"]

# Parallel model calls: how many of the newest may still have asked for a tool.
CALLS_LOOKED_AT = 16
# Producers in JavaScript stamp starts in whole milliseconds and ends exactly.
ROUNDING_NS = 1_000_000


class Asking:
    """Time line of one lane, walked in the order of starts.

    Args:
        tree: All operations.
        calls: Positions of the lane's counted model calls; the index of each is its step.
    """

    def __init__(self, tree: Tree, calls: Sequence[int]) -> None:
        self._starts = tree.starts
        self._ends = tree.ends
        self._calls = calls
        self._begun = 0
        self._open_ends: list[int] = []
        self._quiet_since: int | None = None

    def note(self, position: int) -> None:
        """A counted operation of the lane begins."""
        if self._begun < len(self._calls) and self._calls[self._begun] == position:
            self._begun += 1
        heappush(self._open_ends, self._ends[position])

    def step_at(self, position: int) -> int:
        """The step of a tool call that nothing else places.

        Of the newest call; of parallel ones, the one that had just ended; never of a call which
        began in the same millisecond, since it can have asked for nothing yet.
        """
        if self._is_early(position):
            return self._begun
        if self._begun == 0:
            return 0
        start = self._starts[position]
        newest = self._begun - 1
        begun = self._starts[self._calls[newest]]
        outlives = self._ends[self._calls[newest]] > max(start, self._ends[position])
        if outlives and newest > 0 and start - begun < ROUNDING_NS:
            newest -= 1
            begun = self._starts[self._calls[newest]]
        first = max(0, self._begun - CALLS_LOOKED_AT)
        ended = [
            step
            for step in range(first, newest + 1)
            if begun < self._ends[self._calls[step]] <= start
        ]
        return max(ended, key=lambda step: self._ends[self._calls[step]]) if ended else newest

    def _is_early(self, position: int) -> bool:
        """True when the next call's span begins late, at its last bytes, and the tool before it.

        The next call would have to wait for the tool if an earlier call had asked for it; here it
        begins and ends while the tool runs, and the lane was quiet for longer before the tool.
        """
        start, end = self._starts[position], self._ends[position]
        while self._open_ends and self._open_ends[0] <= start:
            self._quiet_since = heappop(self._open_ends)
        if self._begun >= len(self._calls):
            return False
        coming = self._calls[self._begun]
        if self._ends[coming] >= end:
            return False
        if self._quiet_since is None:
            return True
        return self._starts[coming] - start < start - self._quiet_since
