"""What exporters share that speak gRPC or HTTP with one server, as their options say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from whyflame.config.fields import setting
from whyflame_exporters.answers import Answer, answer_error
from whyflame_exporters.http import Endpoint, EndpointOptions
from whyflame_exporters.rpc import GrpcEndpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PROTOBUF", "ServerExporter", "ServerOptions"]

PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class ServerOptions(EndpointOptions):
    """Where to send, as whom and by which transport."""

    protocol: str = setting("grpc", "transport", choices=("grpc", "http"))


class ServerExporter:
    """Holds the connections of an exporter from its start to its end.

    Args:
        name: Name of the exporter block.
        options: Its own keys, as read.
        gzips: Requests over gRPC are compressed.

    Raises:
        ConfigError: The address is none, or cannot be had with gRPC.
    """

    def __init__(self, name: str, options: ServerOptions, *, gzips: bool = False) -> None:
        self._http = Endpoint(name, options)
        kind = grpc.Compression.Gzip if gzips else grpc.Compression.NoCompression
        self._grpc = GrpcEndpoint(name, options, kind) if options.protocol == "grpc" else None

    def start(self) -> None:
        """Read certificates and secrets once, so that a mistake shows at start."""
        (self._grpc or self._http).start()

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - closing does not wait
        """Close the connections; calls under way end."""
        (self._grpc or self._http).close()

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """One HTTP request; what is no success is raised as what it means."""
        answer = self._http.post(path, body, headers)
        error = answer_error(answer)
        if error is not None:
            raise error
        return answer
