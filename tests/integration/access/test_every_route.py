"""With tokens configured, nothing is read or written without one: every route and every method."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import grpc
import pytest
from tests import otlp
from tests.routes import api_routes
from tests.serving import EXPORT, SERVICES, Serving, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# The page's own files hold no data; probes say only whether the server lives.
OPEN = {"/", "/healthz", "/readyz", "/static/", "/static/palette.css"}
STRANGERS = (
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Basic cmVhZGVyOg=="},
    {"Authorization": "reader-key"},
    {"Authorization": "Bearer sender-key"},
    {"authorization": "Bearer "},
)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server with tokens for senders, readers and for forgetting."""
    folder = tmp_path_factory.mktemp("locked")
    for name in ("sender", "reader", "eraser"):
        (folder / name).write_text(f"{name}-key\n")
    settings = {
        "otlp": {"auth": {"bearer_tokens_file": str(folder / "sender")}},
        "http": {
            "auth": {"bearer_tokens_file": str(folder / "reader")},
            "forget": {"bearer_tokens_file": str(folder / "eraser")},
        },
    }
    with Serving(folder / "d", settings) as running:
        yield running


def status_of(address: str, method: str, headers: dict[str, str], kind: str = "") -> int:
    """The HTTP status of one request."""
    body = None if method in {"GET", "HEAD"} else b"{}"
    sent = headers | ({"Content-Type": kind or "application/json"} if body else {})
    request = urllib.request.Request(address, data=body, headers=sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)


def test_every_route_of_the_api(serving: Serving, tmp_path: Path) -> None:
    """401 on each route, by each method, to everyone without the right token; HEAD and OPTIONS too."""
    asked = 0
    for path, methods in api_routes(tmp_path):
        place = path.replace("{session:anything}", "s").replace("{id}", "x")
        address = f"http://{serving.api}{place}"
        for method in {*methods, "GET", "POST", "OPTIONS", "DELETE"}:
            for headers in STRANGERS:
                status = status_of(address, method, headers)
                assert (status == 401) is (path not in OPEN), (path, method, headers, status)
                asked += 1
    assert asked > 500


def test_a_path_that_is_none(serving: Serving) -> None:
    """Neither a wrong path nor one that hides behind an open one gets past."""
    for path in (
        "/api/v1/nothing",
        "//api/v1/totals",
        "/API/v1/totals",
        "/healthz/../api/v1/totals",
    ):
        assert status_of(f"http://{serving.api}{path}", "GET", {}) in {401, 404}
    for path in ("/static/../api/v1/totals", "/static/%2e%2e/api/v1/status", "/static/..%2fapi.py"):
        assert status_of(f"http://{serving.api}{path}", "GET", {}) == 404


def test_the_right_token_passes(serving: Serving) -> None:
    """A reader reads; forgetting takes a token of its own, which reads nothing."""
    reader = {"Authorization": "Bearer reader-key"}
    eraser = {"Authorization": "Bearer eraser-key"}
    api = f"http://{serving.api}/api/v1"
    assert status_of(f"{api}/status", "GET", reader) == 200
    assert status_of(f"http://{serving.api}/metrics", "GET", reader) == 200
    assert status_of(f"{api}/forget", "POST", reader) == 401
    assert status_of(f"{api}/forget", "POST", eraser) == 400  # what to forget is missing
    assert status_of(f"{api}/status", "GET", eraser) == 401


@pytest.mark.parametrize("signal", SERVICES)
def test_every_receiving_method(serving: Serving, signal: str) -> None:
    """No export without a sender's token, over gRPC and HTTP; nothing reaches the journal."""
    body = otlp.traces(otlp.Row("genai", "chat")) if signal == "traces" else b"\x0a\x00"
    with grpc.insecure_channel(serving.grpc) as channel:
        for headers in (*STRANGERS[:4], {"Authorization": "Bearer reader-key"}):
            metadata = [(name.lower(), value) for name, value in headers.items()]
            call = channel.unary_unary(EXPORT.format(*SERVICES[signal]))
            with pytest.raises(grpc.RpcError) as caught:
                call(body, timeout=20, metadata=metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]
            address = f"http://{serving.http}/v1/{signal}"
            for kind in ("application/json", "application/x-protobuf", "text/plain"):
                assert status_of(address, "POST", headers, kind) == 401
    wait_until(lambda: serving.pending() == 0)
    journal = serving.data_dir / "journal"
    assert sum(file.stat().st_size for file in journal.rglob("*.wfj")) == 0


def test_methods_that_are_none(serving: Serving) -> None:
    """Other gRPC methods do not exist; health answers everyone and says nothing else."""
    with grpc.insecure_channel(serving.grpc) as channel:
        for method in (
            "/opentelemetry.proto.collector.trace.v1.TraceService/Import",
            "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        ):
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(method)(b"", timeout=20)
            assert caught.value.code() in {  # type: ignore[attr-defined]
                grpc.StatusCode.UNIMPLEMENTED,
                grpc.StatusCode.UNAUTHENTICATED,
            }
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=20) == b"\x08\x01"
