"""OTLP/HTTP: `POST /v1/{traces,logs,metrics}`, protobuf and JSON, and the server around it."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from whyflame.config import cannot_listen, parse_address
from whyflame.config.hosts import CONTAINER_HOSTS, are_known, is_own_origin, known_names
from whyflame.connections import BoundedProtocol
from whyflame.errors import ConfigError, PermanentError
from whyflame.journal import Encoding, Signal
from whyflame.receive.limits import inflate, too_large
from whyflame.receive.tls import ssl_context
from whyflame.receive.warnings import encode_success
from whyflame.rpc_status import encode_json, encode_protobuf

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.datastructures import Headers

    from whyflame.config import OtlpConfig
    from whyflame.config.callers import Callers
    from whyflame.receive.intake import Intake
    from whyflame.receive.limits import Reservation
    from whyflame.receive.status import Answer

__all__ = ["HttpServer", "build_app"]

_ENCODINGS = {"application/x-protobuf": Encoding.PROTOBUF, "application/json": Encoding.JSON}
_COMPRESSIONS = frozenset({"gzip", "deflate"})
_BODY_SECONDS = 60.0
_DRAIN_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 75
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One signal's path."""

    signal: Signal
    intake: Intake
    callers: Callers
    max_bytes: int
    names: frozenset[str] | None

    async def __call__(self, request: Request) -> Response:
        """Answer one POST."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = _ENCODINGS.get(media_type, Encoding.PROTOBUF)
        try:
            tenant = self._check_head(request, media_type)
            with self.intake.inflight.hold() as held:
                body = await self._read_body(request, held)
                warning = await run_in_threadpool(self._take, request, encoding, body, held, tenant)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 - every error must become an answer
            answer = self.intake.refuse("http", self.signal, error)
            await _drain(request, self.max_bytes)
            return _refusal(answer, media_type)
        return Response(encode_success(encoding, warning), media_type=media_type)

    def _check_head(self, request: Request, media_type: str) -> str:
        """The tenant. Raises PermanentError for what need not be read."""
        headers = request.headers
        self._check_names(headers)
        # A header given twice is no valid tenant: nobody can slip one past a proxy's own.
        named = ",".join(headers.getlist(self.callers.header)) if self.callers.header else None
        tenant = self.callers.identify(headers.get("authorization"), named)
        if media_type not in _ENCODINGS:
            known = ", ".join(sorted(_ENCODINGS))
            raise PermanentError(f"unsupported content type, send one of {known}", "media_type")
        compression = _compression(request)
        if compression and compression not in _COMPRESSIONS:
            raise PermanentError(
                "unsupported content encoding, send gzip, deflate or none", "content_encoding"
            )
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self.max_bytes:
            raise too_large(self.max_bytes)
        self.intake.check_open()
        return tenant

    def _check_names(self, headers: Headers) -> None:
        """Refuse what a foreign page sends through a browser (see `config.hosts`)."""
        if self.names is None:
            return
        if not are_known(headers.getlist("host"), self.names):
            raise PermanentError(
                "this receiver is not known under that name: add it to otlp.allowed_hosts",
                "foreign_host",
            )
        if not all(is_own_origin(origin, self.names) for origin in headers.getlist("origin")):
            raise PermanentError(
                "a web page of another origin may not send: add its host to otlp.allowed_hosts",
                "foreign_origin",
            )

    async def _read_body(self, request: Request, held: Reservation) -> bytes:
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for piece in request.stream():
                    if held.size + len(piece) > self.max_bytes:
                        raise too_large(self.max_bytes)
                    held.add(len(piece))
                    pieces.append(piece)
        except TimeoutError as error:
            raise PermanentError("the body did not arrive in time", "timeout") from error
        return b"".join(pieces)

    def _take(
        self, request: Request, encoding: Encoding, body: bytes, held: Reservation, tenant: str
    ) -> str:
        if _compression(request):
            body = inflate(body, self.max_bytes)
            held.add(len(body))
        return self.intake.accept("http", self.signal, encoding, body, tenant)


def build_app(config: OtlpConfig, intake: Intake, callers: Callers) -> Starlette:
    """The ASGI application of the OTLP/HTTP port.

    Raises:
        ConfigError: The prefix is no path.
    """
    prefix = _prefix(config.http_prefix)
    names = known_names(config.http, config.allowed_hosts)
    if names is not None:
        names |= frozenset(CONTAINER_HOSTS)

    def route(signal: Signal) -> Route:
        endpoint = _Endpoint(signal, intake, callers, config.max_request_bytes, names)

        async def post(request: Request) -> Response:
            return await endpoint(request)

        return Route(f"{prefix}/v1/{signal.label}", post, methods=["POST"])

    return Starlette(routes=[route(signal) for signal in Signal])


def _prefix(configured: str) -> str:
    """`/otlp` of "otlp", "/otlp" or "/otlp/"; empty when there is none."""
    path = configured.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9/._~-]*", path):
        raise ConfigError(
            f"otlp.http_prefix {configured!r}: use letters, digits and / . _ ~ - only, as in /otlp"
        )
    return f"/{path}" if path else ""


class HttpServer:
    """The OTLP/HTTP port of one process: uvicorn in a thread.

    Args:
        config: The block `otlp`.
        app: The ASGI application.
    """

    def __init__(
        self, config: OtlpConfig, app: Callable[..., Awaitable[None]], grace_seconds: float = 10.0
    ) -> None:
        self._address = config.http
        self._shares_port = config.processes > 1
        self._tls = config.tls
        self._settings = uvicorn.Config(
            app,
            loop="asyncio",
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=round(grace_seconds),
        )
        self._server = uvicorn.Server(self._settings)
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Listen and serve; returns the port.

        Raises:
            ConfigError: The address or the certificate cannot be used.
        """
        self._settings.load()
        if self._tls.cert_file:
            self._settings.ssl = ssl_context(self._tls)
        listener = _listen(self._address, shares_port=self._shares_port)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="otlp-http", daemon=True
        )
        self._thread.start()
        self._wait_until_started()
        return int(listener.getsockname()[1])

    def stop(self, grace_seconds: float) -> None:
        """Stop accepting, finish what runs within the grace. Safe before start, and twice."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(grace_seconds + 1)

    def _wait_until_started(self) -> None:
        pause = threading.Event()
        for _ in range(round(_START_SECONDS / 0.01)):
            if self._server.started:
                return
            pause.wait(0.01)
        raise ConfigError(f"the HTTP server on {self._address} did not start")


def _listen(address: str, *, shares_port: bool) -> socket.socket:
    host, port = parse_address(address)
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server(
            (host, port),
            family=family,
            backlog=2048,
            reuse_port=shares_port,
            dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        raise ConfigError(cannot_listen(address, "otlp.http", error)) from error


def _compression(request: Request) -> str:
    named = request.headers.get("content-encoding", "").strip().lower()
    return "" if named == "identity" else named


def _refusal(answer: Answer, media_type: str) -> Response:
    """The refusal as google.rpc.Status in the request's encoding, plain text for other types."""
    headers = {"Retry-After": answer.retry_after} if answer.retry_after else {}
    if answer.http_status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = "Bearer"
    match _ENCODINGS.get(media_type):
        case Encoding.PROTOBUF:
            body = encode_protobuf(answer.status)
        case Encoding.JSON:
            body = encode_json(answer.status)
        case _:
            body, media_type = answer.status.message.encode(), "text/plain"
    return Response(body, answer.http_status, headers, media_type)


async def _drain(request: Request, max_bytes: int) -> None:
    """Read a refused body away, within bounds.

    A client that still sends when the connection closes would see a reset instead of the answer,
    and repeat what must not be repeated.
    """
    left = 4 * max_bytes
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for piece in request.stream():
                left -= len(piece)
                if left < 0:
                    return
    except (TimeoutError, ClientDisconnect, RuntimeError):
        return
