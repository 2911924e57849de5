"""Any OTLP endpoint (Tempo, Langfuse, Phoenix, a Collector): received requests, unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import setting
from whyflame.config.reading import read_options
from whyflame_exporters.http import gzip_body, tenant_header
from whyflame_exporters.profile_ids import mark_agent_roots
from whyflame_exporters.server import PROTOBUF, ServerExporter, ServerOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import ReceivedRequest

__all__ = ["ForwardExporter", "ForwardOptions"]

_METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}


@dataclass(frozen=True, slots=True)
class ForwardOptions(ServerOptions):
    """Options of the forward exporter."""

    compression: str = setting("none", "of requests", choices=("none", "gzip"))
    tenant_id: str = setting(
        "", "X-Scope-OrgID of every request; empty: the tenant of the data, if it has one"
    )
    profile_ids: bool = setting(
        default=False, doc="set pyroscope.profile.id on the first agent spans of traces"
    )


class ForwardExporter(ServerExporter):
    """Passes received requests on over OTLP.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or wrong.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        read = read_options(ForwardOptions, options, f"exporters.{name}")
        self._options = read
        self._gzips = read.compression == "gzip"
        super().__init__(name, read, gzips=self._gzips)

    def forward(self, request: ReceivedRequest) -> int:
        """Send the bytes as they came, or with profile ids when these were asked for."""
        body = request.body
        if self._options.profile_ids and request.signal == "traces":
            body = mark_agent_roots(body)
        headers = tenant_header(self._options.tenant_id or request.tenant)
        if self._grpc is not None:
            answer = self._grpc.call(_METHODS[request.signal], body, headers)
        else:
            answer = self._over_http(request.signal, body, headers)
        return _refused_records(answer)

    def _over_http(self, signal: str, body: bytes, headers: dict[str, str]) -> bytes:
        headers["Content-Type"] = PROTOBUF
        if self._gzips:
            body = gzip_body(body)
            headers["Content-Encoding"] = "gzip"
        answer = self._http.post(f"/v1/{signal}", body, headers)
        is_protobuf = answer.headers.get("content-type", "").startswith(PROTOBUF)
        return answer.body if is_protobuf else b""


def _refused_records(answer: bytes) -> int:
    """Records an endpoint took the request without; the message is alike for all signals."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    if not answer:
        return 0
    try:
        response = ExportTraceServiceResponse.FromString(answer)
    except DecodeError:
        return 0
    return max(0, int(response.partial_success.rejected_spans))
