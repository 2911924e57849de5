"""What exporters share that speak gRPC or HTTP with one server, as their options say."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from whyflame.config.fields import setting
from whyflame_exporters.http import Endpoint, EndpointOptions
from whyflame_exporters.rpc import GrpcEndpoint

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
