"""What a foreign web page may do through a user's browser: nothing. Every route is tried."""

from __future__ import annotations

import http.client
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.query_server import open_filled, serving
from tests.routes import api_routes

from whyflame.config import Config, HttpConfig
from whyflame.config.hosts import known_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FOREIGN = (
    "attacker.example",
    "attacker.example:4319",
    "localhost.attacker.example",
    "127.0.0.1.attacker.example",
    "xlocalhost",
    "127.0.0.1@attacker.example",
    "[::1].attacker.example",
    "",
)
OWN = (
    "localhost",
    "LOCALHOST:4319",
    "whyflame.localhost",
    "localhost.",
    "127.0.0.1:9",
    "[::1]:4319",
    "10.1.2.3",
)


@contextmanager
def server(folder: Path, settings: HttpConfig) -> Iterator[str]:
    """The address of a server that holds nothing."""
    store = open_filled(folder / "w.duckdb", [])
    with serving(store, Config(http=settings)) as running:
        yield running.url.removeprefix("http://")
    store.close()


def ask(
    address: str, method: str, path: str, host: str, more: Mapping[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """One request under a name of our choice: status, headers, body."""
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host)
    for name, value in (more or {}).items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", "0")
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def places(folder: Path) -> list[tuple[str, str]]:
    """Every route by each of its methods, and by those that browsers try first."""
    return [
        (method, path.replace("{session:anything}", "s").replace("{id}", "x"))
        for path, methods in api_routes(folder)
        for method in sorted({*methods, "GET", "POST", "OPTIONS"})
    ]


@pytest.mark.slow
def test_no_route_answers_under_a_foreign_name(tmp_path: Path) -> None:
    """A page that lets its own name point to 127.0.0.1 reads nothing."""
    routes = places(tmp_path)
    with server(tmp_path, HttpConfig()) as address:
        for method, path in routes:
            status, _, body = ask(address, method, path, "attacker.example")
            assert status == 403, (method, path)
            assert method == "HEAD" or b"http.allowed_hosts" in body
        for host in FOREIGN:
            assert ask(address, "GET", "/api/v1/status", host)[0] in {400, 403}, host
        for host in OWN:
            assert ask(address, "GET", "/api/v1/status", host)[0] == 200, host
    assert len(routes) > 80


@pytest.mark.slow
def test_no_answer_may_be_read_by_another_origin(tmp_path: Path) -> None:
    """No route says that a foreign page may read it, nor lets one send what browsers ask about."""
    asking = {
        "Origin": "https://attacker.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, authorization",
    }
    with server(tmp_path, HttpConfig()) as address:
        for method, path in places(tmp_path):
            status, headers, _ = ask(address, method, path, address, asking)
            assert not [name for name in headers if name.startswith("access-control-")], path
            assert method != "OPTIONS" or status >= 400, path


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_page_may_send_unasked_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Forms and plain texts leave a browser without a question; no changing route takes them."""
    changing = [(m, p) for m, p in places(tmp_path) if m == "POST" and p.startswith("/api/v1/")]
    with server(tmp_path, HttpConfig()) as address:
        for method, path in changing:
            status = ask(address, method, path, address, {"Content-Type": kind})[0]
            assert status in {404, 405, 415}, (path, status)


def test_names_can_be_allowed(tmp_path: Path) -> None:
    settings = HttpConfig(allowed_hosts=["Flames.Example", "whyflame"])
    with server(tmp_path, settings) as address:
        for host in ("flames.example", "FLAMES.example.:443", "whyflame:4319", *OWN):
            assert ask(address, "GET", "/api/v1/status", host)[0] == 200, host
        assert ask(address, "GET", "/api/v1/status", "other.example")[0] == 403


@pytest.mark.parametrize(
    ("listen", "allowed", "names"),
    [
        ("127.0.0.1:4319", [], {"127.0.0.1"}),
        ("[::1]:4319", [], {"::1"}),
        ("localhost:4319", [], {"localhost"}),
        ("0.0.0.0:4319", [], None),
        ("flames.example:80", [], None),
        ("0.0.0.0:4319", ["flames.example"], {"0.0.0.0", "flames.example"}),
    ],
)
def test_open_ports_take_any_name_until_some_are_listed(
    listen: str, allowed: list[str], names: set[str] | None
) -> None:
    assert known_names(listen, allowed) == names


def test_grafana_gets_an_error_of_its_own_kind(tmp_path: Path) -> None:
    with server(tmp_path, HttpConfig()) as address:
        path = "/querier.v1.QuerierService/ProfileTypes"
        _, _, body = ask(address, "POST", path, "attacker.example")
    assert b'"permission_denied"' in body
