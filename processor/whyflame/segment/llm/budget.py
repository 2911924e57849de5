"""Tokens per hour, and an account of what was spent."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyflame.segment.lane import Lane
    from whyflame.segment.segmenter import Mark, Segmenter

__all__ = ["Account", "LlmCall", "PaidSegmenter"]

_HOUR_NS = 3600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One request that the segmenter itself made; becomes an operation of service `whyflame`.

    Attributes:
        start_ns, end_ns: Of the request. key: Tells apart what began in the same instant.
        provider: As configured; empty when not known. request_model: As asked.
        model, response_id: As answered; None without an answer.
        input_tokens, output_tokens: Of which `cached_tokens` and `reasoning_tokens`; None when the
            endpoint does not say.
        error: Class of the failure; None when it answered.
    """

    start_ns: int
    end_ns: int
    key: str
    provider: str
    request_model: str
    model: str | None = None
    response_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    error: str | None = None

    @property
    def failed(self) -> bool:
        """There was no answer."""
        return self.error is not None


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
        self._number = 0
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

    def next_key(self) -> str:
        """A key for the next request, never given twice by this account."""
        with self._lock:
            self._number += 1
            return str(self._number)

    def note(self, call: LlmCall) -> None:
        """Put a request into the books."""
        with self._lock:
            self._calls.append(call)

    def take_calls(self) -> list[LlmCall]:
        """The requests since the last time."""
        with self._lock:
            calls, self._calls = self._calls, []
            return calls


@runtime_checkable
class PaidSegmenter(Protocol):
    """A segmenter that asks a model.

    Attributes:
        account: The requests it made, to be stored as operations.
        unpaid: Segments what those requests become.
    """

    name: str
    account: Account
    unpaid: Segmenter

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """As every segmenter's."""
        ...
