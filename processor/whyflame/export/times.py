"""Windows and times: when a profile says it happened, and how wide a window must be.

A backend takes two profiles with equal labels and time for one. So the time of a payload is the
end of its window less an offset that no other payload has: it is made of the payload's number in
the outbox, which grows for ever, and the number of the replica.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyflame.export.settings import MAX_SHARDS

__all__ = ["SECOND_NS", "WindowControl", "last_closed", "payload_time"]

SECOND_NS = 1_000_000_000
_MILLISECOND_NS = 1_000_000
# Windows end at multiples of this; offsets stay below it, so windows never meet.
_GRID_NS = 15 * SECOND_NS
# Whole milliseconds first, since some servers join profiles of one millisecond; then nanoseconds.
# A prime: so many payloads of one replica pass before two share a millisecond.
_SLOTS = 13_999


def last_closed(now_ns: int) -> int:
    """End of the newest window that is over."""
    return now_ns // _GRID_NS * _GRID_NS


def payload_time(window_end_ns: int, identifier: int, shard: int = 0) -> int:
    """The time of a payload: in the last 15 s of its window, and its own.

    Args:
        window_end_ns: End of the window, a multiple of 15 s.
        identifier: Number of the payload in the outbox.
        shard: Number of the replica.
    """
    round_number, slot = divmod(identifier * MAX_SHARDS + shard, _SLOTS)
    return window_end_ns - (1 + slot) * _MILLISECOND_NS + round_number % _MILLISECOND_NS


@dataclass(slots=True)
class WindowControl:
    """Widens the window when delivery cannot keep up, and narrows it again.

    Attributes:
        smallest_ns, largest_ns: Bounds of the window. interval_ns: Batch interval at the smallest.
        window_ns: Width in force.
    """

    smallest_ns: int
    largest_ns: int
    interval_ns: int
    window_ns: int = 0
    _calm: int = 0

    def __post_init__(self) -> None:
        self.window_ns = self.window_ns or self.smallest_ns

    @property
    def batch_interval_ns(self) -> int:
        """How long to collect operations before the next batch: a third of a widened window."""
        if self.window_ns == self.smallest_ns:
            return self.interval_ns
        return max(self.interval_ns, self.window_ns // 3)

    def observe(self, delivery_seconds: float) -> None:
        """Tell how long the newest batch and all that waits takes to deliver."""
        # Runs are settled every 15 s or so: that long nothing new comes.
        available = max(self.batch_interval_ns, _GRID_NS) / SECOND_NS
        if delivery_seconds > 0.8 * available:
            self.window_ns = min(self.window_ns * 2, self.largest_ns)
            self._calm = 0
        elif delivery_seconds < 0.2 * available:
            self._calm += 1
            if self._calm >= _CALM_BATCHES:
                self.window_ns = max(self.window_ns // 2, self.smallest_ns)
                self._calm = 0
        else:
            self._calm = 0


_CALM_BATCHES = 5
