"""Refusals as the Connect protocol shows them."""

from __future__ import annotations

HTTP_STATUS = {
    "invalid_argument": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "resource_exhausted": 429,
    "canceled": 499,
    "unknown": 500,
    "internal": 500,
    "unimplemented": 501,
    "unavailable": 503,
    "deadline_exceeded": 504,
}

# google.rpc.Code numbers, for gRPC.
GRPC_STATUS = {
    "canceled": 1,
    "unknown": 2,
    "invalid_argument": 3,
    "deadline_exceeded": 4,
    "not_found": 5,
    "permission_denied": 7,
    "resource_exhausted": 8,
    "unimplemented": 12,
    "internal": 13,
    "unavailable": 14,
    "unauthenticated": 16,
}


class Refusal(Exception):  # noqa: N818 - an answer of the server
    """What the server says no with."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.code]


def invalid(message: str) -> Refusal:
    """400, for whatever the sender got wrong."""
    return Refusal("invalid_argument", message)
