"""What every gRPC status means."""

from __future__ import annotations

import grpc
import pytest

from whyflame.errors import PermanentError
from whyflame.export import (
    LateError,
    PausedError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame_exporters.rpc import status_error

CODE = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        (CODE.INVALID_ARGUMENT, "invalid metric name", PermanentError),
        (CODE.INVALID_ARGUMENT, "outside of ingestion window", LateError),
        (
            CODE.INVALID_ARGUMENT,
            "(max_profile_stacktrace_samples, actual: 9, limit: 8)",
            TooLargeError,
        ),
        (CODE.RESOURCE_EXHAUSTED, "push rate limit (4.0 MiB) exceeded", RateLimitedError),
        (
            CODE.RESOURCE_EXHAUSTED,
            "push rate limit (4.0 MiB) exceeded while adding 3.0 MiB",
            TooLargeError,
        ),
        (CODE.UNAUTHENTICATED, "", PausedError),
        (CODE.PERMISSION_DENIED, "", PausedError),
        (CODE.UNIMPLEMENTED, "", PausedError),
        (CODE.UNAVAILABLE, "", UnavailableError),
        (CODE.DEADLINE_EXCEEDED, "", UnavailableError),
        (CODE.UNKNOWN, "", UnavailableError),
        (CODE.INTERNAL, "", UnavailableError),
    ],
)
def test_statuses(code: grpc.StatusCode, details: str, kind: type[Exception]) -> None:
    assert type(status_error(code, details)) is kind
