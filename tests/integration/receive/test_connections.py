"""Whoever opens connections and says nothing keeps nobody else from sending."""

from __future__ import annotations

import resource
import socket
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.connections import most_connections, raise_descriptor_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture
def few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight a port."""
    for module in ("connections", "receive.grpc"):
        monkeypatch.setattr(f"whyflame.{module}.most_connections", lambda: 8)


@pytest.fixture
def connect() -> Iterator[Callable[[str], socket.socket]]:
    """Open a connection that is closed after the test."""
    opened = []

    def make(address: str) -> socket.socket:
        host, _, port = address.rpartition(":")
        opened.append(socket.create_connection((host, int(port)), timeout=10))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


def is_open(connection: socket.socket) -> bool:
    """False once the other side has closed it."""
    connection.settimeout(0.2)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def post(url: str, body: bytes) -> int:
    request = urllib.request.Request(url, data=body, headers=PROTOBUF)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return int(answer.status)


@pytest.mark.parametrize("said", [b"", b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_a_head_that_does_not_come_ends_the_connection(
    start: Any, connect: Any, make_body: Any, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """Trickling bytes does not keep it open; a request in good time is answered."""
    monkeypatch.setattr("whyflame.connections.HEAD_SECONDS", 0.5)
    monkeypatch.setattr("whyflame.receive.http._KEEP_ALIVE_SECONDS", 0)
    running = start()
    connection = connect(running.addresses.http)
    connection.sendall(said)
    deadline = time.monotonic() + 10
    while is_open(connection):
        assert time.monotonic() < deadline
        if said:
            connection.sendall(b"x")
    assert post(running.url(), make_body()) == 200


@pytest.mark.usefixtures("few_connections")
def test_connections_beyond_the_bound_are_closed(start: Any, connect: Any, make_body: Any) -> None:
    """The others are served, and there is room again when some leave."""
    running = start()
    held = [connect(running.addresses.http) for _ in range(12)]
    living = [connection for connection in held if is_open(connection)]
    assert len(living) == 8
    for connection in living:
        connection.close()
    deadline = time.monotonic() + 10
    while True:
        try:
            assert post(running.url(), make_body()) == 200
            break
        except OSError:
            assert time.monotonic() < deadline
    assert running.export()(make_body(), timeout=10) == b""


@pytest.mark.usefixtures("few_connections")
def test_grpc_connections_are_bounded_too(start: Any, connect: Any, make_body: Any) -> None:
    running = start()
    held = [connect(running.addresses.grpc) for _ in range(12)]
    # A server speaks first here: its settings.
    assert sum(bool(connection.recv(9)) for connection in held[:4]) == 4
    assert not all(is_open(connection) for connection in held)
    for connection in held:
        connection.close()
    assert running.export()(make_body(), timeout=10, wait_for_ready=True) == b""


def test_as_many_descriptors_as_are_of_use_are_taken() -> None:
    """Ports get a part of them, so that files can be opened whatever comes in."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1000, before[1]))
        assert most_connections() == 250
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(8192, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
