"""Parca: `ProfileStoreService/WriteRaw` over gRPC, or its JSON gateway over HTTP."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.config.reading import read_options
from whyflame.wire import bytes_field, text_field
from whyflame_exporters.server import ServerExporter, ServerOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload

__all__ = ["ParcaExporter", "ParcaOptions", "encode_json", "encode_proto"]

_PATH = "/api/profiles/writeraw"
_METHOD = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"


@dataclass(frozen=True, slots=True)
class ParcaOptions(ServerOptions):
    """Options of the Parca exporter."""


class ParcaExporter(ServerExporter):
    """Writes profiles to Parca.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        super().__init__(name, read_options(ParcaOptions, options, f"exporters.{name}"))

    def send(self, payload: Payload) -> None:
        """Write one profile."""
        if self._grpc is not None:
            self._grpc.call(_METHOD, encode_proto(payload), {})
        else:
            self._http.post(_PATH, encode_json(payload), {"Content-Type": "application/json"})


def encode_json(payload: Payload) -> bytes:
    """`WriteRawRequest` as JSON."""
    labels = [{"name": name, "value": value} for name, value in payload.labels]
    sample = {"rawProfile": base64.b64encode(payload.body).decode()}
    series = {"labels": {"labels": labels}, "samples": [sample]}
    return json.dumps({"series": [series], "normalized": False}, separators=(",", ":")).encode()


def encode_proto(payload: Payload) -> bytes:
    """`WriteRawRequest`: series 2; label set 1, samples 2; labels 1; raw profile 1."""
    labels = b"".join(
        bytes_field(1, text_field(1, name) + text_field(2, value)) for name, value in payload.labels
    )
    return bytes_field(2, bytes_field(1, labels) + bytes_field(2, bytes_field(1, payload.body)))
