"""An exporter that keeps payloads in memory, for tests of whyflame and of its users."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whyflame.export.protocol import Payload

__all__ = ["InlineExecutor", "MemoryExporter"]


class MemoryExporter:
    """Accepts everything, except what it was told to refuse.

    Args:
        name: Name of the exporter in the configuration.
        options: Must be empty.
    """

    def __init__(self, name: str = "memory", options: Mapping[str, Any] | None = None) -> None:
        if options:
            raise ConfigError(f"exporters.{name}: the memory exporter has no options")
        self.name = name
        self.accepted: list[Payload] = []
        self.attempts: list[Payload] = []
        self.started = 0
        self.closed = 0
        self._failures: list[tuple[Exception, bool]] = []
        self._lock = threading.Lock()

    def fail_next(self, error: Exception, *, times: int = 1, stored: bool = False) -> None:
        """Answer the next calls with an error.

        Args:
            error: What `send` raises.
            times: For how many calls.
            stored: Keep the payload all the same, as a server does whose answer got lost.
        """
        with self._lock:
            self._failures.extend([(error, stored)] * times)

    def start(self) -> None:
        """Count the start."""
        self.started += 1

    def send(self, payload: Payload) -> None:
        """Keep the payload, or raise what `fail_next` asked for."""
        with self._lock:
            self.attempts.append(payload)
            error, stored = self._failures.pop(0) if self._failures else (None, True)
            if stored:
                self.accepted.append(payload)
        if error is not None:
            raise error

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - nothing to wait for
        """Count the close."""
        self.closed += 1


class InlineExecutor(Executor):
    """Runs every call at once in the caller's thread, so that tests have one order of events.

    Args:
        workers: As for a pool of threads; means nothing here.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call `fn` now and return its result as a finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whatever it is, the future carries it
            future.set_exception(error)
        return future
