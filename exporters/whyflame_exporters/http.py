"""One HTTP endpoint: kept-alive connections, credentials, TLS."""

from __future__ import annotations

import base64
import re
import ssl
import threading
import zlib
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from whyflame.config import read_secret
from whyflame.config.fields import section, setting
from whyflame.errors import ConfigError
from whyflame.export import UnavailableError
from whyflame_exporters.answering import read_answer
from whyflame_exporters.answers import Answer, answer_error

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BasicAuth", "Endpoint", "EndpointOptions", "TlsOptions", "gzip_body", "headers_of", "tenant_header",
]  # fmt: skip

_GZIP_WINDOW = 31


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """User and password; Grafana Cloud: stack id and token."""

    username: str = setting("", "user name")
    password_file: str = setting("", "file with the password", "secret_file")
    password: str = setting("", "the password, as ${env:NAME}")


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How the server proves who it is, and we to it."""

    ca_file: str = setting("", "PEM certificates to trust instead of the system's", "file")
    cert_file: str = setting("", "PEM certificate to show to the server", "file")
    key_file: str = setting("", "PEM key of that certificate", "file")
    skip_verify: bool = setting(default=False, doc="accept any certificate; for tests only")


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Where to send and as whom; shared by exporters that speak HTTP."""

    url: str = setting("", "http:// or https:// address of the server")
    timeout: float = setting(
        10.0, "longest wait for an answer; a push may take seconds", "duration", minimum=0.1
    )
    basic_auth: BasicAuth = section(BasicAuth, "user and password")
    bearer_token_file: str = setting("", "file with a bearer token", "secret_file")
    headers: dict[str, str] = setting({}, "further request headers")
    tls: TlsOptions = section(TlsOptions, "TLS of https addresses")


def headers_of(options: EndpointOptions) -> dict[str, str]:
    """Headers of a request, credentials among them: read anew, so that a changed file takes effect."""
    headers = dict(options.headers)
    if options.bearer_token_file:
        headers["Authorization"] = f"Bearer {read_secret(options.bearer_token_file)}"
    elif options.basic_auth.username:
        basic = options.basic_auth
        password = read_secret(basic.password_file) if basic.password_file else basic.password
        token = base64.b64encode(f"{basic.username}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {token}"
    return headers


def tenant_header(tenant: str) -> dict[str, str]:
    """Whose the data are, as Grafana's servers are told; nothing without tenants."""
    return {"X-Scope-OrgID": tenant} if tenant else {}


def gzip_body(body: bytes) -> bytes:
    """Gzip without name and time: equal bodies stay equal bytes."""
    packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(body) + packer.flush()


class Endpoint:
    """Requests to one server from several threads, a kept-alive connection for each.

    Redirects are not followed: the credentials would go along.

    Args:
        name: Name of the exporter block, for error messages.
        options: Where and as whom.

    Raises:
        ConfigError: The address is no address, or credentials contradict each other.
    """

    def __init__(self, name: str, options: EndpointOptions) -> None:
        self._name = name
        self._options = options
        self._url = _parse_url(name, options.url)
        self._ssl: ssl.SSLContext | None = None
        self._local = threading.local()
        self._open: set[HTTPConnection] = set()
        self._lock = threading.Lock()
        _check_credentials(name, options)

    def start(self) -> None:
        """Read certificates; nothing is sent.

        Raises:
            ConfigError: A file is missing or unusable.
        """
        headers_of(self._options)
        if self._url.scheme == "https":
            self._ssl = self._make_ssl()

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """POST, and the answer of a success.

        Raises:
            PermanentError: The server refused the request.
            TransientError: It may pass later.
        """
        answer = self.request("POST", path, body, headers)
        error = answer_error(answer)
        if error is not None:
            raise error
        return answer

    def request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """One request and its answer.

        Raises:
            UnavailableError: No answer came; the server may have acted on the request.
        """
        sent = {**headers_of(self._options), **headers}
        target = self._url.path.rstrip("/") + path
        # A kept-alive connection may have been closed by the server meanwhile: then once more.
        while True:
            connection, is_new = self._connection()
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(self._options.timeout)
                connection.request(method, target, body, sent)
                answer, is_reusable = read_answer(connection, self._options.timeout)
            except (OSError, HTTPException) as error:
                self._drop(connection)
                if is_new or isinstance(error, TimeoutError):
                    raise UnavailableError(
                        f"{self._url.netloc}: {type(error).__name__}: {error}"
                    ) from error
            else:
                if not is_reusable:
                    self._drop(connection)
                return answer

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()

    def _connection(self) -> tuple[HTTPConnection, bool]:
        """This thread's connection, and whether it is a new one."""
        known: HTTPConnection | None = getattr(self._local, "connection", None)
        if known is not None:
            return known, False
        host, port = self._url.hostname or "", self._url.port
        timeout = self._options.timeout
        if self._url.scheme == "https":
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=timeout, context=self._ssl
            )
        else:
            connection = HTTPConnection(host, port, timeout=timeout)
        with self._lock:
            self._open.add(connection)
        self._local.connection = connection
        return connection, True

    def _drop(self, connection: HTTPConnection) -> None:
        connection.close()
        self._local.connection = None
        with self._lock:
            self._open.discard(connection)

    def _make_ssl(self) -> ssl.SSLContext:
        tls = self._options.tls
        try:
            context = ssl.create_default_context(cafile=tls.ca_file or None)
            if tls.cert_file:
                context.load_cert_chain(tls.cert_file, tls.key_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"exporters.{self._name}: tls: {error}") from error
        if tls.skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _parse_url(name: str, url: str) -> SplitResult:
    if not url:
        raise ConfigError(f"exporters.{name}: url is missing")
    parts = _split(url)
    if parts is None or parts.scheme not in {"http", "https"} or parts.query:
        raise ConfigError(
            f'exporters.{name}: url: expected an address such as "http://pyroscope:4040", '
            f"got {url!r}"
        )
    if parts.username or parts.password:
        raise ConfigError(f"exporters.{name}: url: credentials belong into basic_auth")
    return parts


def _split(url: str) -> SplitResult | None:
    """The parts of an address; None when its host or port cannot be one."""
    try:
        parts = urlsplit(url)
        is_host = bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:
        return None
    return parts if is_host else None


def _check_credentials(name: str, options: EndpointOptions) -> None:
    basic = options.basic_auth
    if options.bearer_token_file and basic.username:
        raise ConfigError(f"exporters.{name}: bearer_token_file and basic_auth exclude each other")
    if basic.username and not (basic.password_file or basic.password):
        raise ConfigError(f"exporters.{name}: basic_auth: password_file is missing")
    if bool(options.tls.cert_file) != bool(options.tls.key_file):
        raise ConfigError(f"exporters.{name}: tls: cert_file and key_file must be given together")
    for key, value in options.headers.items():
        if not re.fullmatch(r"[A-Za-z0-9-]+", key) or "\n" in value or "\r" in value:
            raise ConfigError(f"exporters.{name}: headers: {key!r} is no header")
    for path in (options.bearer_token_file, basic.password_file):
        if path and not Path(path).expanduser().is_absolute() and not Path(path).exists():
            raise ConfigError(f"exporters.{name}: {path} is not here")
