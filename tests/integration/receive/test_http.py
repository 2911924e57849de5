"""OTLP/HTTP as the specification has it."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from whyflame.journal import Encoding, Signal
from whyflame.journal.otlp_json import request_class
from whyflame.rpc_status import decode_message, decode_retry_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
SPAN = {
    "traceId": "0AF7651916CD43DD8448EB211C80319C",
    "spanId": "b7ad6b7169203331",
    "name": "chat",
    "kind": 3,
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": 1700000001000000000,
}
BODY = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]})


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=20) as opened:
        yield opened


def test_protobuf_is_journalled_byte_for_byte(
    running: Any, client: httpx.Client, make_body: Any
) -> None:
    """200 with an empty ExportTraceServiceResponse in the request's encoding."""
    body = make_body(5)
    answer = client.post(running.url(), content=body, headers=PROTOBUF)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert [frame.payload for frame in running.frames()] == [body]


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_is_journalled_as_protobuf(
    running: Any, client: httpx.Client, content_type: str
) -> None:
    """Parameters of the type are ignored, ids are hex, the answer is JSON."""
    answer = client.post(running.url(), content=BODY, headers={"content-type": content_type})
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["content-type"] == "application/json"
    (frame,) = running.frames()
    assert frame.encoding is Encoding.PROTOBUF
    span = request_class(Signal.TRACES).FromString(frame.payload)
    span = span.resource_spans[0].scope_spans[0].spans[0]
    assert span.trace_id.hex() == SPAN["traceId"].lower()  # type: ignore[attr-defined]
    assert span.end_time_unix_nano == SPAN["endTimeUnixNano"]


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
@pytest.mark.parametrize("headers", [PROTOBUF, JSON], ids=["protobuf", "json"])
def test_every_signal_is_taken(
    running: Any, client: httpx.Client, signal: str, headers: dict[str, str]
) -> None:
    """An empty request is a success."""
    body = b"{}" if headers is JSON else b""
    assert client.post(running.url(signal), content=body, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_compressions(
    running: Any, client: httpx.Client, make_body: Any, name: str, pack: Any
) -> None:
    """gzip, deflate and none are understood."""
    body = make_body(50)
    headers = PROTOBUF | {"content-encoding": name}
    assert client.post(running.url(), content=pack(body), headers=headers).status_code == 200
    assert running.frames()[0].payload == body


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"\xff\xff", PROTOBUF, 400),
        (b"{", JSON, 400),
        (b'{"resourceSpans": 7}', JSON, 400),
        (b"not gzip", PROTOBUF | {"content-encoding": "gzip"}, 400),
        (b"x", PROTOBUF | {"content-encoding": "zstd"}, 415),
    ],
    ids=["bytes", "json", "structure", "gzip", "zstd"],
)
def test_wrong_bodies_are_refused_for_good(
    running: Any, client: httpx.Client, content: bytes, headers: dict[str, str], status: int
) -> None:
    """The body is a google.rpc.Status in the request's encoding; no Retry-After."""
    answer = client.post(running.url(), content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == headers["content-type"]
    assert "retry-after" not in answer.headers
    is_json = headers["content-type"] == "application/json"
    assert answer.json()["code"] == 3 if is_json else decode_message(answer.content)
    assert running.frames() == []


def test_other_types_and_methods_are_refused(running: Any, client: httpx.Client) -> None:
    """415 names what is understood, 405 names POST, other paths are 404."""
    answer = client.post(running.url(), content=b"x", headers={"content-type": "text/xml"})
    assert answer.status_code == 415
    assert "application/x-protobuf" in answer.text
    assert client.post(running.url(), content=b"x").status_code == 415
    answer = client.get(running.url())
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert client.post(running.url("profiles"), content=b"").status_code == 404


@pytest.mark.parametrize("way", ["length", "chunked", "gzip"])
def test_the_size_is_limited_before_and_after_inflating(
    start: Any, client: httpx.Client, way: str
) -> None:
    """413, and the answer reaches a client that is still sending."""
    running = start(max_request_bytes=1 << 20)
    body, headers = bytes(8 << 20), PROTOBUF
    if way == "gzip":
        body, headers = gzip.compress(body), PROTOBUF | {"content-encoding": "gzip"}
    content = iter([body[at : at + 65536] for at in range(0, len(body), 65536)])
    answer = client.post(
        running.url(), content=content if way == "chunked" else body, headers=headers
    )
    assert answer.status_code == 413
    assert "max_request_bytes" in decode_message(answer.content)


def test_too_much_pending_is_refused_for_now(
    start: Any, client: httpx.Client, make_body: Any
) -> None:
    """503 with Retry-After and RetryInfo; never 500, which is not repeated."""
    running = start(max_pending_bytes=1000)
    client.post(running.url(), content=make_body(1, "x" * 2000), headers=PROTOBUF)
    answer = client.post(running.url(), content=make_body(), headers=PROTOBUF)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert (decode_retry_seconds(answer.content) or 0) > 0


def test_tokens_are_demanded(
    start: Any, client: httpx.Client, make_body: Any, tmp_path: Any
) -> None:
    """401 with the scheme; a right token passes."""
    file = tmp_path / "tokens"
    file.write_text("right")
    running = start(tokens_file=str(file))
    answer = client.post(running.url(), content=make_body(), headers=PROTOBUF)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    headers = PROTOBUF | {"authorization": "bearer right"}
    assert client.post(running.url(), content=make_body(), headers=headers).status_code == 200


def test_a_client_that_leaves_disturbs_nobody(
    running: Any, client: httpx.Client, make_body: Any
) -> None:
    """Half a request is forgotten."""
    host, port = running.addresses.http.split(":")
    with socket.create_connection((host, int(port))) as half:
        half.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 1000\r\n\r\nhalf"
        )
    answer = client.post(running.url(), content=make_body(), headers=PROTOBUF)
    assert answer.status_code == 200
    assert len(running.frames()) == 1
