"""How fast and how often: token bucket, back-off, and what the server has refused as late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.export.times import SECOND_NS

if TYPE_CHECKING:
    from random import Random

__all__ = ["Backoff", "LateHorizon", "TokenBucket"]


@dataclass(slots=True)
class TokenBucket:
    """Lets so many bytes pass a second.

    Attributes:
        rate: Bytes a second. burst: Bytes that may pass at once.
    """

    rate: int
    burst: int
    _level: float | None = None
    _seen_ns: int = 0

    def take(self, size: int, now_ns: int) -> int:
        """Take `size` bytes, or say how many nanoseconds from now they will be there.

        More than the burst passes when the bucket is full: it would never pass otherwise.
        """
        level = float(self.burst) if self._level is None else self._level
        elapsed = max(0, now_ns - self._seen_ns) / SECOND_NS
        self._level = min(float(self.burst), level + elapsed * self.rate)
        self._seen_ns = now_ns
        missing = min(size, self.burst) - self._level
        if missing > 0:
            return max(1, int(missing / self.rate * SECOND_NS))
        self._level -= size
        return 0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential waiting times with jitter.

    Attributes:
        first_seconds: About the first wait. longest_seconds: Never longer than this.
        random: Where the jitter comes from.
    """

    random: Random
    first_seconds: float = 1.0
    longest_seconds: float = 60.0

    def wait_ns(self, attempt: int) -> int:
        """Wait before the attempt after the `attempt`th failure, counted from 1."""
        full = min(self.longest_seconds, self.first_seconds * 2 ** min(attempt - 1, 16))
        return int(full * (0.5 + self.random.random() / 2) * SECOND_NS)


@dataclass(slots=True)
class LateHorizon:
    """The age from which the server refused profiles, believed for ten minutes."""

    _age_ns: int | None = None
    _learned_ns: int = 0

    def learn(self, time_ns: int, now_ns: int) -> None:
        """The server has refused a profile of this time as too old."""
        age = now_ns - time_ns
        if age > 0 and (not self._is_fresh(now_ns) or self._age_ns is None or age < self._age_ns):
            self._age_ns, self._learned_ns = age, now_ns

    def refuses(self, time_ns: int, now_ns: int) -> bool:
        """Whether a profile of this time would be refused again."""
        return (
            self._age_ns is not None and self._is_fresh(now_ns) and now_ns - time_ns >= self._age_ns
        )

    def _is_fresh(self, now_ns: int) -> bool:
        return now_ns - self._learned_ns < _BELIEVED_NS


_BELIEVED_NS = 600 * SECOND_NS
