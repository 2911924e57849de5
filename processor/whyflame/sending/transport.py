"""One OTLP exchange over gRPC or HTTP, and what its answer means."""

from __future__ import annotations

import http.client
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from whyflame.errors import UsageError
from whyflame.journal import Signal
from whyflame.rpc_status import decode_message, decode_retry_seconds

if TYPE_CHECKING:
    import grpc

__all__ = ["GrpcTransport", "HttpTransport", "Reply", "Transport"]

_TIMEOUT_SECONDS = 60.0
_MAX_ANSWER_BYTES = 1 << 20
_METHODS = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    Signal.METRICS: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
_RETRYABLE_CODES = frozenset(
    {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}
)
_RETRYABLE_STATUS = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        is_accepted: Acknowledged, at least in part.
        is_retryable: Not accepted, and the same request may be sent again.
        retry_seconds: When, if the receiver said so.
        rejected_items: Partial success: items that must not be sent again.
        message: What the receiver said.
    """

    is_accepted: bool
    is_retryable: bool = False
    retry_seconds: float | None = None
    rejected_items: int = 0
    message: str = ""


class Transport(Protocol):
    """Sends one request and waits for its answer; `close` is safe to repeat."""

    def send(self, signal: Signal, body: bytes) -> Reply:
        """One exchange; an unreachable endpoint is a retryable reply, not an error."""
        ...

    def close(self) -> None:
        """Give the connection back."""


class GrpcTransport:
    """OTLP/gRPC."""

    def __init__(self, endpoint: str, headers: dict[str, str], ca_file: str) -> None:
        import grpc

        scheme, target = _split(endpoint)
        options = [("grpc.max_send_message_length", -1)]
        self._channel: grpc.Channel
        if scheme == "https":
            roots = Path(ca_file).read_bytes() if ca_file else None
            credentials = grpc.ssl_channel_credentials(roots)
            self._channel = grpc.secure_channel(target, credentials, options)
        else:
            self._channel = grpc.insecure_channel(target, options)
        self._metadata = tuple(sorted(headers.items()))
        self._calls: dict[Signal, Any] = {
            signal: self._channel.unary_unary(method) for signal, method in _METHODS.items()
        }

    def send(self, signal: Signal, body: bytes) -> Reply:
        """One Export call."""
        import grpc

        try:
            answer = self._calls[signal](body, timeout=_TIMEOUT_SECONDS, metadata=self._metadata)
        except grpc.RpcError as error:
            return _grpc_refusal(error)
        return _success(signal, answer)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


class HttpTransport:
    """OTLP/HTTP with protobuf bodies over one kept-alive connection."""

    def __init__(self, endpoint: str, headers: dict[str, str], ca_file: str) -> None:
        scheme, target = _split(endpoint)
        address, _, path = target.partition("/")
        self._path = f"/{path}".rstrip("/")
        self._headers = headers | {"content-type": "application/x-protobuf"}
        self._connection: http.client.HTTPConnection
        if scheme == "https":
            context = ssl.create_default_context(cafile=ca_file or None)
            self._connection = http.client.HTTPSConnection(
                address, timeout=_TIMEOUT_SECONDS, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(address, timeout=_TIMEOUT_SECONDS)

    def send(self, signal: Signal, body: bytes) -> Reply:
        """One POST."""
        try:
            path = f"{self._path}/v1/{signal.label}"
            self._connection.request("POST", path, body, self._headers)
            response = self._connection.getresponse()
            content = response.read(_MAX_ANSWER_BYTES)
            if not response.isclosed():
                self._connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return Reply(is_accepted=False, is_retryable=True, message=_reason(error))
        if response.status != http.client.OK:
            return _http_refusal(response, content)
        if (response.getheader("Content-Type") or "").lower().startswith("text/html"):
            return Reply(is_accepted=False, message="200: a page of HTML, not an acknowledgement")
        return _success(signal, content)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _split(endpoint: str) -> tuple[str, str]:
    """Scheme and the rest of an endpoint."""
    wrong = UsageError(f"endpoint {endpoint!r} is not host:port or http(s)://host:port")
    try:
        url = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        is_address = bool((url.hostname or "").encode("idna")) and url.port != 0
    except ValueError:
        raise wrong from None
    if url.scheme not in {"http", "https"} or not is_address:
        raise wrong
    return url.scheme, f"{url.netloc}{url.path}".rstrip("/")


def _success(signal: Signal, content: bytes) -> Reply:
    """Read `partial_success` of an answer; its three variants have the same fields."""
    if not content:
        return Reply(is_accepted=True)
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

    try:
        partial = ExportLogsServiceResponse.FromString(content).partial_success
    except Exception:  # noqa: BLE001 - an answer we cannot read is still an acknowledgement
        return Reply(is_accepted=True, message=f"unreadable answer to a {signal.label} request")
    return Reply(
        is_accepted=True,
        rejected_items=partial.rejected_log_records,
        message=partial.error_message,
    )


def _grpc_refusal(error: Any) -> Reply:
    code: grpc.StatusCode = error.code()
    details = dict(error.trailing_metadata() or ())
    retry_seconds = decode_retry_seconds(details.get("grpc-status-details-bin", b""))
    # OTLP: RESOURCE_EXHAUSTED may be repeated only when the receiver says when.
    is_retryable = code.name in _RETRYABLE_CODES or (
        code.name == "RESOURCE_EXHAUSTED" and retry_seconds is not None
    )
    return Reply(
        is_accepted=False,
        is_retryable=is_retryable,
        retry_seconds=retry_seconds,
        message=f"{code.name}: {error.details()}",
    )


def _http_refusal(response: http.client.HTTPResponse, content: bytes) -> Reply:
    after = response.getheader("Retry-After", "")
    said = decode_message(content) or response.reason
    return Reply(
        is_accepted=False,
        is_retryable=response.status in _RETRYABLE_STATUS,
        retry_seconds=float(after) if after.isdecimal() else None,
        message=f"{response.status}: {said}",
    )


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
