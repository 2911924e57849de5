"""An OTLP endpoint for tests, over gRPC and HTTP: keeps what it got, fails when told to."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.doubles.pyroscope.errors import Refusal
from tests.doubles.pyroscope.grpc_port import GrpcPort

METHOD = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
SERVICES = {
    "traces": ("trace", "Trace"),
    "logs": ("logs", "Logs"),
    "metrics": ("metrics", "Metrics"),
}


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
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, signals))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def grpc_url(self) -> str:
        return f"http://{self._grpc.address}"

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

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
        self._thread.start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.close()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _handler(sink: OtlpSink, signals: tuple[str, ...]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = zlib.decompress(body, 31)
            signal = self.path.rsplit("/", 1)[-1]
            sink.headers.append({name.lower(): value for name, value in self.headers.items()})
            if signal not in signals:
                self._answer(404, b"")
                return
            try:
                self._answer(200, sink.take(signal, self.headers["x-scope-orgid"], body))
            except Refusal as refusal:
                self._answer(refusal.http_status, refusal.message.encode(), "text/plain")

        def _answer(self, status: int, body: bytes, kind: str = "application/x-protobuf") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
