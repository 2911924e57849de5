"""Sharing time among operations that overlap: one sweep over starts and ends, exact in total."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["share_time"]


# Shares are kept in these parts of a nanosecond while they are rounded.
PARTS = 1 << 24
# Where between two whole numbers sums are cut; at no simple fraction, so that noise decides nothing.
CUT = int(PARTS * 0.3819660113)


def share_time(
    positions: Sequence[int],
    above: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    lanes: Sequence[int],
) -> dict[int, int]:
    """Self time of each position; they add up to the length of the union of all intervals.

    Args:
        positions: Operations that share one clock, in the order of their starts, of equal times
            the outer one first.
        above: Nearest ancestor that takes part, by position; negative for none.
        starts, ends: Nanoseconds by position.
        lanes: Lane by position; no lane is given more than the time in which it was at work.
    """
    shares: dict[int, int] = {}
    cluster: list[int] = []
    busy = 0
    for position in positions:
        if cluster and starts[position] >= busy:
            shares.update(_share_cluster(cluster, above, starts, ends, lanes))
            cluster = []
        busy = max(busy, ends[position]) if cluster else ends[position]
        cluster.append(position)
    if cluster:
        shares.update(_share_cluster(cluster, above, starts, ends, lanes))
    return shares


def _share_cluster(
    positions: Sequence[int],
    above: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    lanes: Sequence[int],
) -> dict[int, int]:
    """Shares in one stretch of time without a pause; short ones keep the floats exact."""
    sweep = _Sweep(above)
    begin = starts[positions[0]]
    events = []
    for rank, position in enumerate(positions):
        if ends[position] > starts[position]:
            # Ends before starts; of equal ends the inner one first, of equal starts the outer one.
            events.append((starts[position] - begin, 1, rank, position))
            events.append((ends[position] - begin, 0, -rank, position))
    events.sort()
    for time, is_start, _, position in events:
        if is_start:
            sweep.start(position, time)
        else:
            sweep.end(position, time)
    by_lane = sorted(positions, key=lambda position: (lanes[position], position))
    return _round_in_order(sweep.own, by_lane)


class _Sweep:
    """Running operations as a forest; each node knows how much time a child of it has received.

    A node's time since it joined its parent is the growth of the parent's `given`, so an event
    touches only the path to the root, not everything that runs.

    Attributes:
        own: Time kept by each operation.
    """

    ROOT = -1

    def __init__(self, above: Sequence[int]) -> None:
        self._above = above
        self._outer: dict[int, int] = {}
        self._running: dict[int, int] = {self.ROOT: 0}
        self._given: dict[int, float] = {self.ROOT: 0.0}
        self._seen: dict[int, float] = {}
        self._inner: dict[int, list[int]] = {}
        self._time = 0
        self.own: dict[int, float] = {}

    def start(self, position: int, time: int) -> None:
        outer = self._nearest_running(self._above[position])
        self._advance(outer, time)
        self.own[position] = 0.0
        self._running[position] = 0
        self._given[position] = 0.0
        self._join(position, outer)

    def end(self, position: int, time: int) -> None:
        self._advance(position, time)
        outer = self._outer.pop(position)
        self._running[outer] -= 1
        for child in self._inner.pop(position, ()):
            if self._outer.get(child) == position:
                self._take(child)
                self._join(child, outer)
        del self._running[position], self._given[position], self._seen[position]

    def _nearest_running(self, position: int) -> int:
        while position >= 0 and position not in self._running:
            position = self._above[position]
        return position if position >= 0 else self.ROOT

    def _join(self, position: int, outer: int) -> None:
        self._outer[position] = outer
        self._seen[position] = self._given[outer]
        self._running[outer] += 1
        self._inner.setdefault(outer, []).append(position)

    def _advance(self, position: int, time: int) -> None:
        """Bring a running operation and all above it to the present, outermost first."""
        path = []
        while position != self.ROOT:
            path.append(position)
            position = self._outer[position]
        running = self._running[self.ROOT]
        if running:
            self._given[self.ROOT] += (time - self._time) / running
        self._time = time
        for node in reversed(path):
            self._take(node)

    def _take(self, node: int) -> None:
        """Pass on what the node received since it was last looked at, or keep it."""
        received = self._given[self._outer[node]] - self._seen[node]
        self._seen[node] += received
        running = self._running[node]
        if running:
            self._given[node] += received / running
        else:
            self.own[node] += received


def _round_in_order(own: dict[int, float], order: Sequence[int]) -> dict[int, int]:
    """Whole nanoseconds: each gets the growth of the rounded running sum.

    So the total is exact, and no stretch of `order` (an operation, a lane) gets a nanosecond more
    than its share rounded up, which whole wall times bound.
    """
    rounded = {}
    total = CUT
    for position in order:
        before = total // PARTS
        total += round(own.get(position, 0.0) * PARTS)
        rounded[position] = total // PARTS - before
    return rounded
