"""Parca: `ProfileStoreService/WriteRaw` over gRPC, or its JSON gateway over HTTP."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import setting
from whyflame.config.reading import read_options
from whyflame.errors import ConfigError
from whyflame_exporters.answers import answer_error
from whyflame_exporters.http import Endpoint, EndpointOptions
from whyflame_exporters.protobuf import message, text
from whyflame_exporters.rpc import GrpcEndpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload

__all__ = ["ParcaExporter", "ParcaOptions", "encode_json", "encode_proto"]

_PATH = "/api/profiles/writeraw"
_METHOD = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"


@dataclass(frozen=True, slots=True)
class ParcaOptions(EndpointOptions):
    """Options of the Parca exporter."""

    protocol: str = setting("grpc", "transport", choices=("grpc", "http"))


class ParcaExporter:
    """Writes profiles to Parca.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        read: ParcaOptions = read_options(ParcaOptions, options, f"exporters.{name}")
        if not read.url:
            raise ConfigError(f"exporters.{name}: url is missing")
        self._http = Endpoint(name, read)
        self._grpc = GrpcEndpoint(name, read) if read.protocol == "grpc" else None

    def start(self) -> None:
        """Read certificates and secrets once, so that a mistake shows at start."""
        (self._grpc or self._http).start()

    def send(self, payload: Payload) -> None:
        """Write one profile."""
        if self._grpc is not None:
            self._grpc.call(_METHOD, encode_proto(payload), {})
            return
        headers = {"Content-Type": "application/json"}
        error = answer_error(self._http.post(_PATH, encode_json(payload), headers))
        if error is not None:
            raise error

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - closing does not wait
        """Close the connections."""
        (self._grpc or self._http).close()


def encode_json(payload: Payload) -> bytes:
    """`WriteRawRequest` as JSON."""
    labels = [{"name": name, "value": value} for name, value in payload.labels]
    sample = {"rawProfile": base64.b64encode(payload.body).decode()}
    series = {"labels": {"labels": labels}, "samples": [sample]}
    return json.dumps({"series": [series], "normalized": False}, separators=(",", ":")).encode()


def encode_proto(payload: Payload) -> bytes:
    """`WriteRawRequest`: series 2; label set 1, samples 2; labels 1; raw profile 1."""
    labels = b"".join(message(1, text(1, name) + text(2, value)) for name, value in payload.labels)
    return message(2, message(1, labels) + message(2, message(1, payload.body)))
