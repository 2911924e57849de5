"""The double's port: push, /ingest, OTLP profiles, label names, readiness, and what it received.

`Double` is what tests start. Like the real server it speaks gRPC (h2c) on the same port: a
connection that begins as HTTP/2 does is handed through to the gRPC server behind it.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
from dataclasses import replace
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from tests.doubles.http import Handler
from tests.doubles.pyroscope.distributor import GZIP, Distributor, inflate
from tests.doubles.pyroscope.errors import Refusal, invalid
from tests.doubles.pyroscope.faults import Fault, Faults
from tests.doubles.pyroscope.grpc_port import GrpcPort, join_sockets
from tests.doubles.pyroscope.ingest import INGEST_PATHS, handle_ingest
from tests.doubles.pyroscope.limits import Flavour, Limits
from tests.doubles.pyroscope.otlp import OTLP_METHOD, OTLP_PATH, handle_grpc, handle_otlp
from tests.doubles.pyroscope.wire import PushRequest

if TYPE_CHECKING:
    from collections.abc import Callable

PUSH_PATH = "/push.v1.PusherService/Push"
LABEL_NAMES_PATH = "/querier.v1.QuerierService/LabelNames"
HTTP2 = b"PRI "
CONNECT_TYPES = {"application/json", "application/proto"}


class Answer:
    """Status, content type and body of one response."""

    def __init__(self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None):
        self.status, self.kind, self.body, self.headers = status, kind, body, headers or {}


def error_answer(code: str, message: str, status: int, headers: dict[str, str]) -> Answer:
    body = json.dumps({"code": code, "message": message}).encode()
    return Answer(status, "application/json", body, headers)


class Double:
    """A Pyroscope for tests, on a free port of 127.0.0.1.

    Args:
        flavour: Which server is played.
        limits: Its limits. clock: Nanoseconds since the epoch; the wall clock when not given.
        port: 0 for any free one.
    """

    def __init__(
        self,
        flavour: Flavour | str = Flavour.V2_2,
        limits: Limits | None = None,
        clock: Callable[[], int] = time.time_ns,
        port: int = 0,
    ) -> None:
        self.flavour = Flavour(flavour)
        self.faults = Faults()
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: list[int] = []
        self.refused: list[bytes] = []  # bodies of pushes that no repetition makes better
        self.connections = 0
        self._distributor = Distributor(self.flavour, limits or Limits(), clock)
        self._server = _Server(("127.0.0.1", port), _handler_for(self))
        self._grpc = GrpcPort({PUSH_PATH: self._grpc_push, OTLP_METHOD: self._grpc_otlp})
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def grpc_address(self) -> str:
        """Where the same services are over gRPC: at the same port."""
        return self.url.removeprefix("http://")

    def pass_to_grpc(self, connection: socket.socket) -> None:
        """Let the gRPC server speak on a connection until one side closes it."""
        host, _, port = self._grpc.address.partition(":")
        with socket.create_connection((host, int(port))) as server:
            join_sockets(connection, server)

    @property
    def profiles(self) -> Any:
        """What is stored, and questions about it."""
        return self._distributor.profiles

    @property
    def distributor(self) -> Distributor:
        return self._distributor

    @property
    def limits(self) -> Limits:
        return self._distributor.limits

    def set_limits(self, **changes: Any) -> None:
        """Change single limits from now on."""
        self._distributor.limits = replace(self._distributor.limits, **changes)

    def fail_next(self, fault: Fault | int | None, times: int = 1) -> None:
        """Arm a fault for the next pushes; None lets them pass."""
        self.faults.fail_next(fault, times)

    def wrap_tls(self, context: ssl.SSLContext) -> None:
        """Speak TLS on the HTTP port from now on."""
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    def compact(self) -> int:
        """Run the server's compaction; returns how many profiles it dropped."""
        removed: int = self.profiles.compact()
        return removed

    def sums(self, **labels: str) -> dict[str, int]:
        """Sample type -> sum over all series."""
        sums: dict[str, int] = self.profiles.sums(**labels)
        return sums

    def state(self) -> dict[str, Any]:
        """Everything worth a look, for people."""
        return {
            "flavour": self.flavour.value,
            "profiles": len(self.profiles.all),
            "series": self.profiles.series_count(),
            "types": self.profiles.type_ids(),
            "sums": self.sums(),
            "label_sets": [dict(labels) for labels in sorted(self.profiles.label_sets())],
        }

    def folded(self, sample_type: str) -> str:
        """Stacks of one sample type over all series, as folded text."""
        stacks = sorted(self.profiles.stacks(sample_type).items())
        return "".join(f"{';'.join(frames)} {value}\n" for frames, value in stacks)

    def start(self) -> Double:
        self._thread.start()
        self._grpc.start()
        return self

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._grpc.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
        """Answer one request; None closes the connection without a word."""
        if method == "GET" and path == "/ready":
            return Answer(200, "text/plain", b"ready\n")
        if path == "/double/state":
            return Answer(200, "application/json", json.dumps(self.state(), indent=1).encode())
        if path == "/double/compact":
            return Answer(200, "application/json", json.dumps({"removed": self.compact()}).encode())
        if path.startswith("/double/stacks/"):
            return Answer(200, "text/plain", self.folded(path.rpartition("/")[2]).encode())
        route, _, query = path.partition("?")
        if route in INGEST_PATHS and method == "POST":
            return Answer(*handle_ingest(self._distributor, query, headers, body))
        if path not in {PUSH_PATH, LABEL_NAMES_PATH, OTLP_PATH}:
            return Answer(404, "text/plain", b"404 page not found\n")
        if method != "POST":
            return Answer(405, "text/plain", b"method not allowed\n", {"Allow": "POST"})
        if path == OTLP_PATH:
            return self._otlp(headers, body)
        return self._connect(path, headers, body)

    def _otlp(self, headers: dict[str, str], body: bytes) -> Answer | None:
        fault = self.faults.take()
        if fault is not None and not fault.stored:
            return _fault_answer(fault)
        answer = Answer(*handle_otlp(self._distributor, headers, body))
        if answer.status == invalid("").http_status:
            self.refused.append(body)
        return answer if fault is None else _fault_answer(fault)

    def _connect(self, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
        kind = headers.get("content-type", "").split(";")[0].strip()
        if kind not in CONNECT_TYPES:
            return Answer(415, "text/plain", b"", {"Accept-Post": ", ".join(sorted(CONNECT_TYPES))})
        try:
            tenant = self._distributor.tenant(headers.get("x-scope-orgid"))
            body = decode_body(headers, body)
            if path == LABEL_NAMES_PATH:
                return self._label_names(headers)
            return self._push(tenant, kind, headers, body)
        except Refusal as refusal:
            if path == PUSH_PATH and refusal.http_status == invalid("").http_status:
                self.refused.append(body)
            return error_answer(refusal.code, refusal.message, refusal.http_status, {})

    def _push(self, tenant: str, kind: str, headers: dict[str, str], body: bytes) -> Answer | None:
        self.bodies.append(body)
        self.headers.append(headers)
        fault = self.faults.take()
        if fault is not None and not fault.stored:
            return _fault_answer(fault)
        self._distributor.push(tenant, parse_push(kind, body))
        if fault is not None:
            return _fault_answer(fault)
        return Answer(200, kind, b"{}" if kind == "application/json" else b"")

    def _grpc_push(self, tenant: str | None, body: bytes) -> bytes:
        request = PushRequest.FromString(body)
        self._distributor.push(self._distributor.tenant(tenant), request)
        return b""

    def _grpc_otlp(self, tenant: str | None, body: bytes) -> bytes:
        return handle_grpc(self._distributor, tenant, body)

    def _label_names(self, headers: dict[str, str]) -> Answer:
        utf8 = "allow-utf8-labelnames=true" in headers.get("accept", "")
        names = self.profiles.label_names(utf8=utf8)
        return Answer(200, "application/json", json.dumps({"names": names}).encode())


def parse_push(kind: str, body: bytes) -> Any:
    """The request message of either codec; unknown JSON fields are ignored."""
    try:
        if kind == "application/json":
            return json_format.Parse(body, PushRequest(), ignore_unknown_fields=True)
        return PushRequest.FromString(body)
    except (json_format.ParseError, DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"unmarshal message: {error}") from None


def decode_body(headers: dict[str, str], body: bytes) -> bytes:
    """The body without its Content-Encoding; only gzip is registered."""
    encoding = headers.get("content-encoding", "identity")
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Refusal(
            "unimplemented", f"unknown compression {encoding!r}: supported encodings gzip"
        )
    if not body.startswith(GZIP):
        raise invalid("gzip: invalid header")
    return inflate(body, 256 << 20)


def _fault_answer(fault: Fault) -> Answer | None:
    if fault.status == 0:
        return Answer(0, "", b"") if fault.hangs else None
    if fault.text is not None:
        return Answer(fault.status, "text/html", fault.text.encode(), fault.headers)
    return error_answer(fault.code, fault.message, fault.status, fault.headers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that break off, as those do who doubt our certificate, are no news."""


def _handler_for(double: Double) -> type[Handler]:
    class OfDouble(Handler):
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            double.connections += 1

        def handle(self) -> None:
            if isinstance(self.connection, ssl.SSLSocket) or not self._begins_as_http2():
                super().handle()
            else:
                double.pass_to_grpc(self.connection)

        def _begins_as_http2(self) -> bool:
            flags = socket.MSG_PEEK | socket.MSG_WAITALL
            return self.connection.recv(len(HTTP2), flags) == HTTP2

        def respond(self) -> None:
            headers, body = self.lower_headers(), self.read_body()
            answer = double.answer(self.command, self.path, headers, body)
            double.statuses.append(answer.status if answer else 0)
            if answer is None or answer.status == 0:
                self.close_connection = True
                if answer is not None:
                    self.rfile.read(1)  # returns when the client has hung up
                return
            headers = {"Content-Type": answer.kind, **answer.headers}
            self.answer(answer.status, answer.body, **headers)

    return OfDouble
