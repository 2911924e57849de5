"""What exporters say about themselves over gRPC: credentials, headers, certificates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from tests.integration.export.backends import make_certificate

from whyflame.config.reading import read_options
from whyflame.errors import ConfigError
from whyflame.export import UnavailableError
from whyflame_exporters.http import EndpointOptions
from whyflame_exporters.rpc import GrpcEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

METHOD = "/test.Service/Call"


class Port(grpc.GenericRpcHandler):
    """A server that notes the metadata of every call."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.seen: list[dict[str, Any]] = []
        self.server = grpc.server(ThreadPoolExecutor(max_workers=2), handlers=[self])
        if credentials is None:
            port = self.server.add_insecure_port("127.0.0.1:0")
            self.url = f"http://127.0.0.1:{port}"
        else:
            port = self.server.add_secure_port("127.0.0.1:0", credentials)
            self.url = f"https://127.0.0.1:{port}"
        self.server.start()

    def service(self, call: grpc.HandlerCallDetails) -> Any:
        self.seen.append(dict(call.invocation_metadata))
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)


@pytest.fixture
def serve() -> Iterator[Callable[..., Port]]:
    made: list[Port] = []

    def begin(credentials: grpc.ServerCredentials | None = None) -> Port:
        made.append(Port(credentials))
        return made[-1]

    yield begin
    for port in made:
        port.server.stop(None).wait()


def call(url: str, **options: Any) -> bytes:
    read = read_options(EndpointOptions, {"url": url, "timeout": "5s", **options}, "exporters.out")
    endpoint = GrpcEndpoint("out", read)
    endpoint.start()
    try:
        return endpoint.call(METHOD, b"body", {"X-Scope-OrgID": "red"})
    finally:
        endpoint.close()


def test_tenant_headers_and_basic_auth(serve: Callable[..., Port], tmp_path: Path) -> None:
    port, secret = serve(), tmp_path / "password"
    secret.write_text("pw\n")
    basic = {"username": "me", "password_file": str(secret)}
    assert call(port.url, headers={"X-Team": "a"}, basic_auth=basic) == b"body"
    (seen,) = port.seen
    assert (seen["x-scope-orgid"], seen["x-team"]) == ("red", "a")
    assert seen["authorization"] == "Basic bWU6cHc="


def test_a_token_file_is_read_anew(serve: Callable[..., Port], tmp_path: Path) -> None:
    port, secret = serve(), tmp_path / "token"
    for token in ("old", "new"):
        secret.write_text(f"{token}\n")
        call(port.url, bearer_token_file=str(secret))
    assert [seen["authorization"] for seen in port.seen] == ["Bearer old", "Bearer new"]


def test_tls_trusts_the_given_authority_only(serve: Callable[..., Port], tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    pair = (key.read_bytes(), certificate.read_bytes())
    port = serve(grpc.ssl_server_credentials([pair]))
    assert call(port.url, tls={"ca_file": str(certificate)}) == b"body"
    with pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
        call(port.url)


def test_a_client_certificate_is_shown(serve: Callable[..., Port], tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    pair = (key.read_bytes(), certificate.read_bytes())
    port = serve(grpc.ssl_server_credentials([pair], pair[1], require_client_auth=True))
    tls = {"ca_file": str(certificate)}
    own = {"cert_file": str(certificate), "key_file": str(key)}
    assert call(port.url, tls=tls | own) == b"body"
    with pytest.raises(UnavailableError):
        call(port.url, tls=tls)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"url": "https://host:4317", "tls": {"skip_verify": True}}, "skip_verify"),
        ({"url": "https://host:4317", "tls": {"ca_file": "/nowhere"}}, "nowhere"),
        ({"url": "http://host:4317/prefix"}, "a path cannot be had with gRPC"),
    ],
)
def test_what_cannot_be_had_shows_at_start(options: dict[str, Any], text: str) -> None:
    read = read_options(EndpointOptions, options, "exporters.out")
    with pytest.raises(ConfigError, match=text):
        GrpcEndpoint("out", read).start()
