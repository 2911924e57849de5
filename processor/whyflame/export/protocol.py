"""The ports: what exporters and forwarders are handed, and the errors they answer with.

PermanentError           this payload can never pass: dead letter, with the error's reason
|- LateError             outside the server's time window: the late policy decides
`- TooLargeError         too many bytes or samples: split in halves and sent again
TransientError           the same bytes are sent again later
|- UnavailableError      no answer, or a fault of the server: exponential backoff
|- RateLimitedError      slow down, at least for as long as the server says
`- PausedError           credentials or address are wrong: everything waits for a person

A payload is sent until one call of `send` returns. Whatever an attempt did, the next attempt
carries identical bytes, labels and time, so that a server can recognise the repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from whyflame.errors import PermanentError, TransientError

__all__ = [
    "Exporter",
    "Forwarder",
    "LateError",
    "PausedError",
    "Payload",
    "RateLimitedError",
    "ReceivedRequest",
    "TooLargeError",
    "UnavailableError",
]


@dataclass(frozen=True, slots=True)
class Payload:
    """One profile of one series and one window, as it is kept in the outbox.

    Attributes:
        id: Number in the outbox; grows, never used twice.
        exporter: Name of the configured exporter it is for.
        tenant: Whose data it is; "" when tenancy is off.
        labels: Labels of the series, sorted by name, `__name__` among them.
        time_ns: Time of the profile; no two payloads of one series share it.
        body: pprof, gzip-compressed.
        size: Bytes of `body` before compression.
        samples: Samples in the profile.
        kind: Format of `body`.
    """

    id: int
    exporter: str
    tenant: str
    labels: tuple[tuple[str, str], ...]
    time_ns: int
    body: bytes
    size: int
    samples: int
    kind: str = "pprof"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One OTLP request as it was received.

    Attributes:
        signal: "traces", "logs" or "metrics".
        tenant: Whose data it is; "" when tenancy is off.
        body: The protobuf bytes. received_ns: When they came.
    """

    signal: str
    tenant: str
    body: bytes
    received_ns: int


class LateError(PermanentError):
    """The profile's time is outside what the server accepts."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "late")


class TooLargeError(PermanentError):
    """The profile has more bytes or samples than the server takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "too_large")


class UnavailableError(TransientError):
    """The server did not answer or failed; it may or may not have stored the profile.

    Args:
        message: What happened.
        retry_after_seconds: When the server asked to be tried again, None when it did not say.
    """

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RateLimitedError(TransientError):
    """The server takes no more at the moment.

    Args:
        message: What the server said.
        retry_after_seconds: How long to wait, None when it did not say.
        resume_at_ns: Moment from which it takes data again, None when it did not say.
        partly_taken: It has a part of the profile: the rest follows, and is not to be split.
    """

    def __init__(
        self,
        message: str,
        retry_after_seconds: float | None = None,
        resume_at_ns: int | None = None,
        *,
        partly_taken: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.resume_at_ns = resume_at_ns
        self.partly_taken = partly_taken


class PausedError(TransientError):
    """Credentials, permissions or the address are wrong; no payload can pass until that is mended.

    Args:
        message: What a person has to look at.
        reason: Short snake_case reason for metrics.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@runtime_checkable
class Exporter(Protocol):
    """Takes profiles to one backend.

    An entry point of the group `whyflame.exporters` names a callable
    `(name: str, options: Mapping[str, Any]) -> Exporter`; it checks every option and raises
    `ConfigError` for a wrong or unknown one, without touching the network. It may have a mapping
    `preferred_settings`: defaults of `ExportSettings` that fit its backend better.
    """

    def start(self) -> None:
        """Get ready to send. Called once before `send`; must not wait for the backend.

        Raises:
            ConfigError: Something only seen at run time is wrong, such as a missing file.
        """

    def send(self, payload: Payload) -> None:
        """Deliver one payload and return when the backend has it for good.

        Called from several threads at once. May block as long as the exporter's own time-out, not
        longer. Keeps nothing: after an error the job calls again with the same payload.

        Raises:
            PermanentError: The payload can never pass (`LateError`, `TooLargeError` are special).
            TransientError: It may pass later.
        """

    def close(self, deadline_seconds: float) -> None:
        """Release connections within the deadline. Safe to call twice, or without `start`."""


@runtime_checkable
class Forwarder(Protocol):
    """Passes received requests on to another OTLP endpoint.

    An entry point of the group `whyflame.forwarders` names a callable like that of an exporter.
    `start` and `close` are those of `Exporter`; `close` also ends calls that are under way.
    """

    def start(self) -> None:
        """Get ready to send; must not wait for the endpoint."""

    def forward(self, request: ReceivedRequest) -> int:
        """Deliver one request and return when the endpoint has it; how many records it refused.

        Called from several threads at once, again with the same request after an error.

        Raises:
            PermanentError: The request can never pass.
            TransientError: It may pass later.
        """

    def close(self, deadline_seconds: float) -> None:
        """Release connections within the deadline. Safe to call twice, or without `start`."""
