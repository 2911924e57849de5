"""Sends requests one after the other and repeats what the receiver asks to have repeated."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from whyflame.errors import PermanentError, TransientError
from whyflame.journal import Signal
from whyflame.sending.transport import GrpcTransport, HttpTransport, Reply, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Sender", "SentCounts"]

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0


@dataclass(slots=True)
class SentCounts:
    """What became of the requests so far.

    Attributes:
        accepted: Requests acknowledged, partly refused ones included.
        refused: Requests refused for good.
        rejected_items: Items of acknowledged requests that the receiver threw away.
        retries: Repetitions that were asked for.
        messages: The first few things the receiver said.
    """

    accepted: int = 0
    refused: int = 0
    rejected_items: int = 0
    retries: int = 0
    messages: list[str] = field(default_factory=list)


class Sender:
    """A connection to one OTLP endpoint. Not thread-safe; a context manager.

    Args:
        endpoint: `host:port`, `http://host:port` or `https://host:port`.
        protocol: "grpc" or "http".
        headers: Metadata or headers of every request, lower-case names.
        ca_file: PEM file the server's certificate must chain to; empty uses the system's.
        patience_seconds: Longest time to wait between the repetitions of one request, in sum.
        sleep: Waits, replaced in tests.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        protocol: str = "grpc",
        headers: Mapping[str, str] | None = None,
        ca_file: str = "",
        patience_seconds: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.counts = SentCounts()
        kind = HttpTransport if protocol == "http" else GrpcTransport
        self._transport: Transport = kind(endpoint, dict(headers or {}), ca_file)
        self._patience_seconds = patience_seconds
        self._sleep = sleep
        self.on_wait: Callable[[str], None] = lambda _message: None
        """Told once, before the first wait: what the receiver said."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, signal: str, body: bytes) -> None:
        """Send one request (protobuf) of "traces", "logs" or "metrics" until it is answered.

        Raises:
            PermanentError: Refused for good.
            TransientError: Still asked to repeat it, or unreachable, after all patience.
        """
        reply = self._send_patiently(Signal[signal.upper()], body)
        if reply.message and len(self.counts.messages) < 10:  # noqa: PLR2004 - enough to see why
            self.counts.messages.append(reply.message)
        if reply.is_accepted:
            self.counts.accepted += 1
            self.counts.rejected_items += reply.rejected_items
            return
        self.counts.refused += 1
        kind = TransientError if reply.is_retryable else PermanentError
        raise kind(f"{signal} request refused: {reply.message}")

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _send_patiently(self, signal: Signal, body: bytes) -> Reply:
        left = self._patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            reply = self._transport.send(signal, body)
            if reply.is_accepted or not reply.is_retryable:
                return reply
            wait = pause if reply.retry_seconds is None else max(reply.retry_seconds, 0.05)
            left -= wait
            if left < 0:
                return reply
            if not self.counts.retries:
                self.on_wait(reply.message)
            self.counts.retries += 1
            self._sleep(wait)
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
