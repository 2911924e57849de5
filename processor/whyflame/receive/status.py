"""What a sender is told about an error: the one place where errors become gRPC and HTTP answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from whyflame.errors import Backpressure, PermanentError, TransientError
from whyflame.rpc_status import RpcStatus

__all__ = ["Answer", "Code", "answer_for"]

_DEFAULT_RETRY_SECONDS = 1.0


class Code(IntEnum):
    """gRPC status codes in use."""

    OK = 0
    INVALID_ARGUMENT = 3
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """One refusal in both protocols.

    Attributes:
        status: The google.rpc.Status; its RetryInfo says that the request may be repeated.
        http_status: HTTP status code.
        outcome: Metric label: `refused` (repeat it), `invalid` (never), `failed` (our fault;
            repeat it).
        reason: Bounded metric label.
    """

    status: RpcStatus
    http_status: int
    outcome: str
    reason: str

    @property
    def retry_after(self) -> str | None:
        """Value of `Retry-After`: whole seconds, at least 1."""
        seconds = self.status.retry_seconds
        return None if seconds is None else str(max(1, math.ceil(seconds)))


_PERMANENT = {
    "too_large": (Code.RESOURCE_EXHAUSTED, 413),
    "unauthenticated": (Code.UNAUTHENTICATED, 401),
    "tenant": (Code.UNAUTHENTICATED, 401),
    "foreign_host": (Code.PERMISSION_DENIED, 403),
    "foreign_origin": (Code.PERMISSION_DENIED, 403),
    "media_type": (Code.INVALID_ARGUMENT, 415),
    "content_encoding": (Code.INVALID_ARGUMENT, 415),
    "timeout": (Code.UNAVAILABLE, 408),
}
"""Codes by the reason of a PermanentError; every other reason means an invalid argument."""


def answer_for(error: BaseException) -> Answer:
    """The answer to an error.

    An error that is neither permanent nor transient is a fault of ours: the sender is asked to
    repeat (OTLP: data loss is worse than a retry), and the text says nothing about internals.
    """
    match error:
        case PermanentError():
            code, http_status = _PERMANENT.get(error.reason, (Code.INVALID_ARGUMENT, 400))
            violation = str(error) if code is Code.INVALID_ARGUMENT else None
            status = RpcStatus(code, str(error), violation=violation)
            return Answer(status, http_status, "invalid", error.reason)
        case Backpressure():
            status = RpcStatus(Code.UNAVAILABLE, str(error), error.retry_after_seconds)
            return Answer(status, 503, "refused", "backpressure")
        case TransientError():
            status = RpcStatus(Code.UNAVAILABLE, str(error), _DEFAULT_RETRY_SECONDS)
            return Answer(status, 503, "refused", "transient")
        case _:
            status = RpcStatus(Code.UNAVAILABLE, "internal fault", _DEFAULT_RETRY_SECONDS)
            return Answer(status, 503, "failed", "internal")
