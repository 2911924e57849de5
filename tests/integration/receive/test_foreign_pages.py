"""What a web page may send to the user's own receiver through the user's browser: nothing."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any

import pytest
from google.rpc.status_pb2 import Status

from whyflame import telemetry
from whyflame.config import OtlpConfig
from whyflame.config.hosts import is_own_origin

if TYPE_CHECKING:
    from collections.abc import Callable

PROTOBUF, JSON = "application/x-protobuf", "application/json"
FOREIGN = (
    "attacker.example",
    "attacker.example:4318",
    "localhost.attacker.example",
    "127.0.0.1.attacker.example",
    "host.docker.internal.attacker.example",
    "",
)
OWN = (
    "localhost:4318",
    "LOCALHOST.",
    "127.0.0.1:9",
    "[::1]:4318",
    "10.1.2.3",
    "host.docker.internal:4318",
    "host.containers.internal",
)


def post(
    running: Any, body: bytes, host: str, kind: str = PROTOBUF, origin: str | None = None
) -> tuple[int, dict[str, str], bytes]:
    """One traces request under a name of our choice: status, headers, body."""
    connection = http.client.HTTPConnection(running.addresses.http, timeout=20)
    connection.putrequest("POST", "/v1/traces", skip_host=True)
    connection.putheader("Host", host)
    connection.putheader("Content-Type", kind)
    if origin is not None:
        connection.putheader("Origin", origin)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def refused(reason: str) -> float:
    """How many requests were refused for that reason."""
    text, _ = telemetry.render(None)
    labels = f'reason="{reason}",signal="traces",transport="http"'
    lines = [line for line in text.decode().splitlines() if labels in line]
    return sum(float(line.split()[-1]) for line in lines if "invalid_requests_total" in line)


def test_foreign_names_are_refused_on_loopback(running: Any, make_body: Any) -> None:
    """A page that points its name at 127.0.0.1 stores nothing; localhost and containers do."""
    before = refused("foreign_host")
    for host in FOREIGN:
        assert post(running, make_body(), host)[0] in {400, 403}, host
    assert running.frames() == []
    assert refused("foreign_host") - before >= len(FOREIGN) - 1
    for host in OWN:
        assert post(running, make_body(), host)[0] == 200, host
    assert len(running.frames()) == len(OWN)


@pytest.mark.parametrize("kind", [PROTOBUF, JSON, "text/plain"])
def test_the_refusal_is_in_the_encoding_of_the_request(running: Any, kind: str) -> None:
    """google.rpc.Status, PERMISSION_DENIED, with what to do about it."""
    status, headers, body = post(running, b"{}", "attacker.example", kind)
    assert (status, headers["content-type"].split(";")[0]) == (403, kind)
    assert b"otlp.allowed_hosts" in body
    assert "retry-after" not in headers
    if kind == PROTOBUF:
        assert Status.FromString(body).code == 7
    assert kind != JSON or b'"code":7' in body.replace(b" ", b"")


def test_foreign_pages_may_not_post(running: Any, make_body: Any) -> None:
    """Also not to the right name: an `Origin` of elsewhere, an address of elsewhere, or none."""
    before = refused("foreign_origin")
    for origin in ("https://attacker.example", "null", "", "http://203.0.113.5", "http://[bad"):
        assert post(running, make_body(), "localhost", origin=origin)[0] == 403, origin
    assert running.frames() == []
    assert refused("foreign_origin") - before == 5
    assert post(running, make_body(), "localhost", origin="http://localhost:5173")[0] == 200


def test_names_can_be_allowed(start: Callable[..., Any], make_body: Any) -> None:
    running = start(allowed_hosts=["Collector", "otel.example"])
    for host in ("collector:4318", "OTEL.example.", *OWN):
        assert post(running, make_body(), host)[0] == 200, host
    assert post(running, make_body(), "other")[0] == 403
    origin = "https://otel.example"
    assert post(running, make_body(), "collector", origin=origin)[0] == 200


def test_an_open_port_takes_any_name(start: Callable[..., Any], make_body: Any) -> None:
    """Names that Compose and Kubernetes give to services need no setting; nor do proxies."""
    running = start(http="0.0.0.0:0")
    for host in ("whyflame:4318", "whyflame.tracing.svc.cluster.local:4318"):
        answer = post(running, make_body(), host, origin="https://shop.example")
        assert answer[0] == 200, host


def test_loopback_is_the_default() -> None:
    assert OtlpConfig().http.startswith("127.0.0.1:")
    assert OtlpConfig().allowed_hosts == []


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("http://localhost:3000", True),
        ("http://app.localhost", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("https://known.example", True),
        ("https://known.example.evil.example", False),
        ("http://10.0.0.9", False),
        ("chrome-extension://abc", False),
        ("null", False),
    ],
)
def test_origins_of_this_machine(origin: str, own: bool) -> None:
    assert is_own_origin(origin, frozenset({"known.example"})) is own
