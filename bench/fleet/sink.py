"""Takes OTLP trace requests over gRPC and HTTP and keeps them as they came."""

from __future__ import annotations

import gzip
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


class Sink:
    """Collects request bodies in order of arrival."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self._grpc = grpc.server(
            ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", 64 << 20)]
        )
        self._grpc.add_generic_rpc_handlers((_Export(self.requests),))
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()
        handler = type("Handler", (_Handler,), {"requests": self.requests})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http_port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def take(self) -> list[bytes]:
        """Everything that came since the last call."""
        taken = list(self.requests)
        self.requests.clear()
        return taken

    def close(self) -> None:
        self._grpc.stop(None)
        self._http.shutdown()


class _Export(grpc.GenericRpcHandler):
    def __init__(self, requests: list[bytes]) -> None:
        self._requests = requests

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(self._export)

    def _export(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        del context
        self._requests.append(request)
        return b""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as plain:
                body = plain.read()
        if self.path.endswith("/v1/traces"):
            self.requests.append(body)
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
