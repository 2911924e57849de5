"""Grafana Pyroscope: `push.v1.PusherService/Push`, one series with one sample a request."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from whyflame.config.fields import setting
from whyflame.config.reading import read_options
from whyflame.wire import bytes_field, text_field
from whyflame_exporters.http import Endpoint, EndpointOptions, gzip_body, tenant_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload

__all__ = ["PyroscopeExporter", "PyroscopeOptions", "encode_json", "encode_proto"]

_PATH = "/push.v1.PusherService/Push"
_NAMESPACE = uuid.UUID("6f6e5a0c-6d1b-4a53-9d6e-2f4b7a6c9d10")


@dataclass(frozen=True, slots=True)
class PyroscopeOptions(EndpointOptions):
    """Options of the Pyroscope exporter."""

    encoding: str = setting("proto", "body of a push", choices=("proto", "json"))
    compression: str = setting(
        "none", "of the body; the profile in it is gzip-compressed", choices=("none", "gzip")
    )
    tenant_id: str = setting(
        "", "X-Scope-OrgID of every push; empty: the tenant of the data, if it has one"
    )


class PyroscopeExporter:
    """Pushes profiles to a Pyroscope of version 1 or 2.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    # Pyroscope keeps span ids with samples; elsewhere each would make a series.
    preferred_settings: ClassVar[dict[str, Any]] = {"span_links": "root"}

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._options = read_options(PyroscopeOptions, options, f"exporters.{name}")
        self._endpoint = Endpoint(name, self._options)
        self._headers = {
            "Content-Type": f"application/{self._options.encoding}",
            "Connect-Protocol-Version": "1",
            "User-Agent": "whyflame",
        }
        if self._options.compression == "gzip":
            self._headers["Content-Encoding"] = "gzip"

    def start(self) -> None:
        """Read certificates and secrets once, so that a mistake shows at start."""
        self._endpoint.start()

    def send(self, payload: Payload) -> None:
        """Push one profile; every attempt sends the same bytes."""
        encode = encode_json if self._options.encoding == "json" else encode_proto
        body = encode(payload)
        if self._options.compression == "gzip":
            body = gzip_body(body)
        tenant = tenant_header(self._options.tenant_id or payload.tenant)
        self._endpoint.post(_PATH, body, self._headers | tenant)

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - closing does not wait
        """Close the connections."""
        self._endpoint.close()


def _profile_id(payload: Payload) -> str:
    """An id for the server's error messages, equal for equal payloads."""
    return str(uuid.uuid5(_NAMESPACE, f"{payload.exporter}/{payload.id}/{payload.time_ns}"))


def encode_json(payload: Payload) -> bytes:
    """`PushRequest` as JSON."""
    series = {
        "labels": [{"name": name, "value": value} for name, value in payload.labels],
        "samples": [
            {
                "ID": _profile_id(payload),
                "rawProfile": base64.b64encode(payload.body).decode(),
            }
        ],
    }
    return json.dumps({"series": [series]}, ensure_ascii=False, separators=(",", ":")).encode()


def encode_proto(payload: Payload) -> bytes:
    """`PushRequest` as protobuf: series 1; labels 1, samples 2; raw profile 1, ID 2."""
    labels = b"".join(
        bytes_field(1, text_field(1, name) + text_field(2, value)) for name, value in payload.labels
    )
    sample = bytes_field(1, payload.body) + text_field(2, _profile_id(payload))
    return bytes_field(1, labels + bytes_field(2, sample))
