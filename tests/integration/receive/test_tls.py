"""TLS and mutual TLS on both ports, with certificates that are replaced while serving."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import grpc
import httpx
import pytest
from tests.integration.receive.conftest import EXPORTS

from whyflame.config import TlsConfig
from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROTOBUF = {"content-type": "application/x-protobuf"}


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two CAs, two server certificates and a client certificate of each CA."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("pki")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    for ca in ("ca", "foreign-ca"):
        files = ("-keyout", f"{folder}/{ca}.key", "-out", f"{folder}/{ca}.pem")
        openssl("req", "-x509", *key, *files, "-subj", f"/CN=test-{ca}")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("server", "other", "client", "foreign"):
        ca = "foreign-ca" if name == "foreign" else "ca"
        files = ("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr")
        openssl("req", *key[:-2], *files, "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/{ca}.pem"),
            *("-CAkey", f"{folder}/{ca}.key", "-CAcreateserial", "-days", "2"),
            *("-extfile", f"{folder}/ext", "-out", f"{folder}/{name}.pem"),
        )
    return folder


@pytest.fixture
def tls(pki: Path, tmp_path: Path) -> TlsConfig:
    """Server files of this test's own, to be replaced at will."""
    for kind in ("pem", "key"):
        shutil.copy(pki / f"server.{kind}", tmp_path / f"live.{kind}")
    return TlsConfig(cert_file=str(tmp_path / "live.pem"), key_file=str(tmp_path / "live.key"))


def call(running: Any, pki: Path, body: bytes, *, client: str = "") -> bytes:
    pair = [(pki / f"{client}.{kind}").read_bytes() if client else None for kind in ("key", "pem")]
    credentials = grpc.ssl_channel_credentials((pki / "ca.pem").read_bytes(), *pair)
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.secure_channel(running.addresses.grpc, credentials, options) as channel:
        return bytes(channel.unary_unary(EXPORTS["traces"])(body, timeout=10))


def context(pki: Path, *, client: str = "") -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(pki / "ca.pem"))
    if client:
        made.load_cert_chain(pki / f"{client}.pem", pki / f"{client}.key")
    return made


def post(running: Any, body: bytes, verify: ssl.SSLContext) -> int:
    url = running.url().replace("http://", "https://")
    return httpx.post(url, content=body, headers=PROTOBUF, verify=verify, timeout=10).status_code


def server_name(running: Any, pki: Path, port: str) -> str:
    """Common name of the certificate a new connection is shown."""
    host, number = port.split(":")
    made = context(pki)
    made.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection((host, int(number)), timeout=10) as plain,
        made.wrap_socket(plain, server_hostname=host) as wrapped,
    ):
        subject: Any = (wrapped.getpeercert() or {})["subject"]
        return str(subject[0][0][1])


def test_both_ports_speak_tls(
    start: Callable[..., Any], tls: TlsConfig, pki: Path, make_body: Any
) -> None:
    """With a certificate, plain text is not served."""
    running = start(tls=tls)
    assert call(running, pki, make_body()) == b""
    assert post(running, make_body(), context(pki)) == 200
    with pytest.raises(grpc.RpcError):
        running.export()(make_body(), timeout=2)
    with pytest.raises(httpx.TransportError):
        httpx.post(running.url(), content=b"", headers=PROTOBUF, timeout=2)
    assert len(running.frames()) == 2


def test_client_certificates_are_demanded(
    start: Callable[..., Any], tls: TlsConfig, pki: Path, make_body: Any
) -> None:
    """With a client CA, only clients of that CA are heard."""
    mutual = TlsConfig(
        cert_file=tls.cert_file, key_file=tls.key_file, client_ca_file=str(pki / "ca.pem")
    )
    running = start(tls=mutual)
    assert call(running, pki, make_body(), client="client") == b""
    assert post(running, make_body(), context(pki, client="client")) == 200
    with pytest.raises(grpc.RpcError):
        call(running, pki, make_body())
    with pytest.raises(httpx.TransportError):
        post(running, make_body(), context(pki))


def test_a_replaced_certificate_is_taken_up(
    start: Callable[..., Any], tls: TlsConfig, pki: Path, tmp_path: Path
) -> None:
    """New connections see the new certificate without a restart."""
    running = start(tls=tls)
    ports = (running.addresses.grpc, running.addresses.http)
    assert {server_name(running, pki, port) for port in ports} == {"server"}
    for kind in ("key", "pem"):
        shutil.copy(pki / f"other.{kind}", tmp_path / f"fresh.{kind}")
        (tmp_path / f"fresh.{kind}").replace(tmp_path / f"live.{kind}")
    assert {server_name(running, pki, port) for port in ports} == {"other"}


def test_a_replaced_client_ca_is_taken_up(
    start: Callable[..., Any], tls: TlsConfig, pki: Path, tmp_path: Path, make_body: Any
) -> None:
    """Clients of the new CA are heard, those of the old one are not, on both ports."""
    live = tmp_path / "clients.pem"
    shutil.copy(pki / "ca.pem", live)
    mutual = TlsConfig(cert_file=tls.cert_file, key_file=tls.key_file, client_ca_file=str(live))
    running = start(tls=mutual)
    url = running.url().replace("http://", "https://")
    with httpx.Client(
        verify=context(pki, client="client"), headers=PROTOBUF, timeout=10
    ) as open_before:
        assert open_before.post(url, content=make_body()).status_code == 200
        shutil.copy(pki / "foreign-ca.pem", tmp_path / "fresh.pem")
        (tmp_path / "fresh.pem").replace(live)
        with pytest.raises(grpc.RpcError):
            call(running, pki, make_body(), client="client")
        with pytest.raises(httpx.TransportError):
            post(running, make_body(), context(pki, client="client"))
        assert call(running, pki, make_body(), client="foreign") == b""
        assert post(running, make_body(), context(pki, client="foreign")) == 200
        # A connection goes on as it was begun.
        assert open_before.post(url, content=make_body()).status_code == 200


def test_half_a_replacement_changes_nothing(
    start: Callable[..., Any], tls: TlsConfig, pki: Path, tmp_path: Path, make_body: Any
) -> None:
    """A certificate without its key is not used; once the key is there, it is."""
    running = start(tls=tls)
    ports = (running.addresses.grpc, running.addresses.http)
    shutil.copy(pki / "other.pem", tmp_path / "live.pem")
    assert {server_name(running, pki, port) for port in ports} == {"server"}
    assert post(running, make_body(), context(pki)) == 200
    shutil.copy(pki / "other.key", tmp_path / "live.key")
    assert {server_name(running, pki, port) for port in ports} == {"other"}


def test_a_wrong_certificate_stops_the_start(start: Callable[..., Any], tmp_path: Path) -> None:
    """A clear message instead of a server nobody can reach."""
    (tmp_path / "bad.pem").write_text("no certificate")
    for file in ("bad.pem", "absent.pem"):
        path = str(tmp_path / file)
        with pytest.raises(ConfigError, match=file):
            start(tls=TlsConfig(cert_file=path, key_file=path))
