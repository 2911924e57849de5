"""Unary gRPC calls with raw bytes: one channel, credentials, and what each status means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import grpc

from whyflame.errors import ConfigError, PermanentError
from whyflame.export import PausedError, TooLargeError, UnavailableError
from whyflame_exporters.answers import limited, refused
from whyflame_exporters.http import headers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame_exporters.http import EndpointOptions

__all__ = ["GrpcEndpoint", "status_error"]

# Retries are paced by whyflame; gRPC by itself would look for a server every two minutes only.
_CHANNEL = [("grpc.max_reconnect_backoff_ms", 5000)]
# What gRPC itself says about a message above the server's `max_receive_message_length`.
_OVER_LIMIT = "larger than max"
_PAUSING = {
    grpc.StatusCode.UNAUTHENTICATED: "unauthorized",
    grpc.StatusCode.PERMISSION_DENIED: "unauthorized",
    grpc.StatusCode.UNIMPLEMENTED: "wrong_address",
}
_REFUSING = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
}


class GrpcEndpoint:
    """Calls methods of one server.

    Args:
        name: Name of the exporter block.
        options: Where and as whom; `skip_verify` cannot be had with gRPC.
        compression: Of requests.
    """

    def __init__(
        self,
        name: str,
        options: EndpointOptions,
        compression: grpc.Compression = grpc.Compression.NoCompression,
    ) -> None:
        if options.tls.skip_verify:
            raise ConfigError(f"exporters.{name}: tls.skip_verify cannot be had with gRPC")
        if urlsplit(options.url).path.strip("/"):
            raise ConfigError(f"exporters.{name}: url: a path cannot be had with gRPC")
        self._name = name
        self._options = options
        self._compression = compression
        self._channel: grpc.Channel | None = None

    def start(self) -> None:
        """Open the channel; it connects when it is used.

        Raises:
            ConfigError: A certificate or secret cannot be read.
        """
        self._metadata({})
        parts = urlsplit(self._options.url)
        if parts.scheme == "http":
            # Without a port gRPC would take 443.
            address = parts.netloc if parts.port else f"{parts.netloc}:80"
            self._channel = grpc.insecure_channel(address, _CHANNEL, self._compression)
        else:
            self._channel = grpc.secure_channel(
                parts.netloc, self._credentials(), _CHANNEL, self._compression
            )

    def call(self, method: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """One call and its answer.

        Raises:
            PermanentError: The server refused the request.
            TransientError: It may pass later.
        """
        if self._channel is None:
            raise UnavailableError("not started")
        try:
            # Without serialisers gRPC hands bytes through; its stubs do not know that case.
            call: Any = self._channel.unary_unary(method)
            answer: bytes = call(
                body, timeout=self._options.timeout, metadata=self._metadata(headers)
            )
        except grpc.RpcError as error:
            raise status_error(error.code(), error.details() or "") from error
        return answer

    def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            self._channel.close()

    def _metadata(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        found = {**headers_of(self._options), **headers}
        return list({name.lower(): value for name, value in found.items()}.items())

    def _credentials(self) -> grpc.ChannelCredentials:
        tls = self._options.tls
        try:
            return grpc.ssl_channel_credentials(
                root_certificates=Path(tls.ca_file).read_bytes() if tls.ca_file else None,
                private_key=Path(tls.key_file).read_bytes() if tls.key_file else None,
                certificate_chain=Path(tls.cert_file).read_bytes() if tls.cert_file else None,
            )
        except OSError as error:
            raise ConfigError(f"exporters.{self._name}: tls: {error}") from error


def status_error(code: grpc.StatusCode, details: str) -> Exception:
    """What a gRPC status other than OK means."""
    said = f"{code.name}: {details[:300]}"
    if code in _PAUSING:
        return PausedError(said, _PAUSING[code])
    if code in _REFUSING:
        return refused(said, details) or PermanentError(said, "refused")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        if _OVER_LIMIT in details:
            return TooLargeError(said)
        return limited(said, details, None)
    return UnavailableError(said)
