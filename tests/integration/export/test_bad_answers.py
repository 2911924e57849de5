"""Servers whose answers never end, are not theirs, or never come."""

from __future__ import annotations

import resource
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from tests.integration.export.backends import make_payload

from whyflame.errors import ConfigError
from whyflame.export import PausedError, UnavailableError
from whyflame_exporters.pyroscope import PyroscopeExporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT = 0.5
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"


def drip(connection: socket.socket, start: bytes, piece: bytes) -> None:
    """A piece now and then: no wait for one is long, all of them are endless."""
    connection.sendall(start)
    while True:
        connection.sendall(piece)
        time.sleep(TIMEOUT / 10)


def flood(connection: socket.socket) -> None:
    """Chunks as fast as they are taken."""
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")


def page(connection: socket.socket) -> None:
    """What a login page, or the front of a web application, answers to anything."""
    body = b"<!doctype html><title>Log in</title>"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[PyroscopeExporter]:
    """An exporter for a server that answers every request so."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 20)
            answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    exporter = PyroscopeExporter("out", {"url": url, "timeout": TIMEOUT})
    exporter.start()
    yield exporter
    exporter.close(1)
    listener.close()


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\n", HEAD + b"Content-Length: 9999\r\n\r\n", HEAD + b"\r\n"]
)
def test_an_answer_in_drops_ends_with_the_timeout(start: bytes) -> None:
    """It is the longest wait for an answer, not for the next byte of one."""
    with answering(lambda connection: drip(connection, start, b"A: b\r\n")) as exporter:
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="TimeoutError"):
            exporter.send(make_payload(1))
        assert time.monotonic() - began < 10 * TIMEOUT


def test_an_answer_without_end_takes_no_memory() -> None:
    with answering(flood) as exporter:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        exporter.send(make_payload(1))
        exporter.send(make_payload(1))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def test_a_web_page_is_no_success() -> None:
    """A proxy's login page says 200 too: what it was sent is not stored."""
    with answering(page) as exporter, pytest.raises(PausedError, match="HTML") as caught:
        exporter.send(make_payload(1))
    assert caught.value.reason == "wrong_address"


@pytest.mark.parametrize(
    "url", ["http://a..b:80", f"http://{'a' * 70}.x", "http://x:99999", "http://x:y", "http://[::1"]
)
def test_an_address_that_is_none_shows_at_start(url: str) -> None:
    with pytest.raises(ConfigError, match=r"exporters\.out: url: expected an address"):
        PyroscopeExporter("out", {"url": url})
