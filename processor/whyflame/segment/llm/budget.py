"""Tokens per hour, and an account of what was spent."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Account", "LlmCall"]

_HOUR_NS = 3600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One request that the segmenter itself made; becomes an operation of service `whyflame`."""

    start_ns: int
    end_ns: int
    model: str
    input_tokens: int | None
    output_tokens: int | None
    failed: bool


class Account:
    """Spends at most so many tokens in any hour; shared between threads.

    Args:
        tokens_per_hour: The bound; 0 allows nothing.
        clock_ns: Now, in ns since the epoch.
    """

    def __init__(self, tokens_per_hour: int, clock_ns: Callable[[], int]) -> None:
        self._bound = tokens_per_hour
        self._clock_ns = clock_ns
        self._spent: deque[tuple[int, int]] = deque()
        self._calls: list[LlmCall] = []
        self._lock = Lock()

    def reserve(self, tokens: int) -> bool:
        """Take tokens from this hour's rest; False when it does not suffice."""
        now = self._clock_ns()
        with self._lock:
            while self._spent and self._spent[0][0] <= now - _HOUR_NS:
                self._spent.popleft()
            if sum(amount for _, amount in self._spent) + tokens > self._bound:
                return False
            self._spent.append((now, tokens))
            return True

    def note(self, call: LlmCall) -> None:
        """Put a request into the books."""
        with self._lock:
            self._calls.append(call)

    def take_calls(self) -> list[LlmCall]:
        """The requests since the last time."""
        with self._lock:
            calls, self._calls = self._calls, []
            return calls
