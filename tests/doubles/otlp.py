"""An OTLP endpoint for tests, over gRPC and HTTP: keeps what it got, fails when told to."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.doubles.http import Handler, HttpServer
from tests.doubles.pyroscope.errors import Refusal
from tests.doubles.pyroscope.grpc_port import GrpcPort

METHOD = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
SERVICES = {
    "traces": ("trace", "Trace"),
    "logs": ("logs", "Logs"),
    "metrics": ("metrics", "Metrics"),
}
_PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True)
class Got:
    """One request that was taken."""

    signal: str
    tenant: str | None
    body: bytes


class OtlpSink:
    """Takes traces, logs and metrics on free ports of 127.0.0.1.

    Args:
        signals: Services that exist; others are unknown methods and paths.
    """

    def __init__(self, signals: tuple[str, ...] = ("traces", "logs", "metrics")) -> None:
        self.signals = signals
        self.got: list[Got] = []
        self.attempts: list[Got] = []
        self.headers: list[dict[str, str]] = []
        self.refused_records = 0
        self.poison: bytes | None = None
        self._failures: list[Refusal] = []
        self._lock = threading.Lock()
        self._grpc = GrpcPort(
            {METHOD.format(*SERVICES[signal]): self._method(signal) for signal in signals}
        )
        self._http = HttpServer(_Handler, self)

    @property
    def grpc_url(self) -> str:
        return f"http://{self._grpc.address}"

    @property
    def http_url(self) -> str:
        return self._http.url

    def bodies(self, signal: str) -> list[bytes]:
        return [got.body for got in self.got if got.signal == signal]

    def fail_next(self, code: str, times: int = 1, message: str = "told to fail") -> None:
        """Answer the next requests with an error of this code, as gRPC and Connect name it."""
        self._failures += [Refusal(code, message)] * times

    def take(self, signal: str, tenant: str | None, body: bytes) -> bytes:
        with self._lock:
            self.attempts.append(Got(signal, tenant, body))
            if body == self.poison:
                raise Refusal("internal", "poison")
            if self._failures:
                raise self._failures.pop(0)
            self.got.append(Got(signal, tenant, body))
            if not self.refused_records:
                return b""
            response = ExportTraceServiceResponse()
            response.partial_success.rejected_spans = self.refused_records
            return response.SerializeToString()

    def _method(self, signal: str) -> Any:
        return lambda tenant, body: self.take(signal, tenant, body)

    def __enter__(self) -> Self:
        self._http.start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.close()
        self._http.close()


class _Handler(Handler):
    def respond(self) -> None:
        body = self.read_body()
        if self.headers["content-encoding"] == "gzip":
            body = zlib.decompress(body, 31)
        signal = self.path.rsplit("/", 1)[-1]
        self.double.headers.append(self.lower_headers())
        if signal not in self.double.signals:
            self.answer(404, Content_Type=_PROTOBUF)
            return
        try:
            taken = self.double.take(signal, self.headers["x-scope-orgid"], body)
            self.answer(200, taken, Content_Type=_PROTOBUF)
        except Refusal as refusal:
            self.answer(refusal.http_status, refusal.message.encode(), Content_Type="text/plain")
