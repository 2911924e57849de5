"""Faults that a test arms: the next answers go wrong in a chosen way."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong answer.

    Attributes:
        status: HTTP status; 0 closes the connection without an answer.
        stored: The push is carried out all the same: the answer is what gets lost.
        hangs: Nothing is answered until the client has given up waiting.
        code, message: Connect error body. headers: Extra headers, such as Retry-After.
        text: A body that is no Connect error, as proxies send.
    """

    status: int
    stored: bool = False
    hangs: bool = False
    code: str = "unknown"
    message: str = "armed by the test"
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None


LOST_ANSWER = Fault(0, stored=True)
RESET = Fault(0)
TIMEOUT = Fault(0, stored=True, hangs=True)
CODES = {400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied",
         404: "not_found", 429: "resource_exhausted", 500: "unknown", 503: "unavailable",
         504: "deadline_exceeded"}  # fmt: skip


class Faults:
    """A queue of armed faults, taken one by one by pushes."""

    def __init__(self) -> None:
        self._queue: list[Fault | None] = []
        self._lock = threading.Lock()

    def fail_next(self, fault: Fault | int | None, times: int = 1) -> None:
        """Arm a fault, a bare HTTP status, or None for no fault, for the next `times` pushes."""
        if isinstance(fault, int):
            fault = Fault(fault, code=CODES.get(fault, "unknown"))
        with self._lock:
            self._queue.extend([fault] * times)

    def take(self) -> Fault | None:
        """The fault for this push, if one is armed."""
        with self._lock:
            return self._queue.pop(0) if self._queue else None

    def clear(self) -> None:
        with self._lock:
            self._queue.clear()
