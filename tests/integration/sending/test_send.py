"""`whyflame send` delivers captures, repeats what it is asked to, and says what was refused."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from tests.doubles.http import Handler, HttpServer

from whyflame.cli import main, send
from whyflame.errors import PermanentError, TransientError, UsageError
from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class
from whyflame.rpc_status import RpcStatus, encode_protobuf
from whyflame.sending import Sender

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
SECOND = 10**9


class Endpoint:
    """An OTLP endpoint with scripted answers, over gRPC and HTTP.

    Attributes:
        answers: Refusals to give, first one first: (gRPC code or HTTP status, retry seconds).
            When none is left, requests are accepted with `success` as the answer's body.
        received: (request body, authorization) of what was accepted.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[Any, float | None]] = []
        self.received: list[tuple[bytes, str | None]] = []
        self.success = b""
        self._grpc = grpc.server(ThreadPoolExecutor(2))
        handler = grpc.unary_unary_rpc_method_handler(self._export)
        self._grpc.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {"Export": handler}),)
        )
        self.grpc_address = f"127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self._grpc.start()
        self._http = HttpServer(_OverHttp, self)
        self.http_address = self._http.url
        self._http.start()

    def close(self) -> None:
        self._grpc.stop(0).wait()
        self._http.close()

    def _export(self, body: bytes, context: Any) -> bytes:
        if self.answers:
            code, retry = self.answers.pop(0)
            status = encode_protobuf(RpcStatus(code.value[0], "scripted", retry_seconds=retry))
            context.set_trailing_metadata((("grpc-status-details-bin", status),))
            context.abort(code, "scripted")
        metadata = dict(context.invocation_metadata())
        self.received.append((body, metadata.get("authorization")))
        return self.success


class _OverHttp(Handler):
    def respond(self) -> None:
        body, endpoint = self.read_body(), self.double
        if not endpoint.answers:
            endpoint.received.append((body, self.headers["authorization"]))
            self.answer(200, endpoint.success)
            return
        status, retry = endpoint.answers.pop(0)
        wait = {} if retry is None else {"Retry-After": str(round(retry))}
        self.answer(status, encode_protobuf(RpcStatus(14, "scripted")), **wait)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


def make_body(at: int = 1_700_000_000 * SECOND) -> bytes:
    message = request_class(Signal.TRACES)()
    span = message.resource_spans.add().scope_spans.add().spans.add(name="chat")
    span.start_time_unix_nano, span.end_time_unix_nano = at - SECOND, at
    return bytes(message.SerializeToString())


def run_send(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    send.add_parser(parser.add_subparsers())
    args = parser.parse_args(["send", *arguments])
    return int(args.run(args))


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_captures_are_delivered(endpoint: Endpoint, tmp_path: Path, protocol: str) -> None:
    """Byte for byte, in order, with headers and token."""
    for number in range(3):
        (tmp_path / f"{number}.traces.binpb").write_bytes(make_body() + b"\x0a\x00" * number)
    token = tmp_path / "token"
    token.write_text("secret\n")
    address = endpoint.grpc_address if protocol == "grpc" else endpoint.http_address
    assert (
        run_send(
            str(tmp_path), "--endpoint", address, "--protocol", protocol, "--token-file", str(token)
        )
        == 0
    )
    bodies = [make_body() + b"\x0a\x00" * number for number in range(3)]
    assert endpoint.received == [(body, "Bearer secret") for body in bodies]


def test_all_files_are_shifted_by_one_amount(endpoint: Endpoint, tmp_path: Path) -> None:
    """The newest end of all becomes now; distances stay."""
    for number in range(2):
        at = (1_700_000_000 + 50 * number) * SECOND
        (tmp_path / f"{number}.traces.binpb").write_bytes(make_body(at))
    before = time.time_ns()
    assert run_send(str(tmp_path), "--endpoint", endpoint.grpc_address, "--shift-to", "now") == 0
    ends = [
        request_class(Signal.TRACES).FromString(body).resource_spans[0].scope_spans[0].spans[0]
        for body, _ in endpoint.received
    ]
    first, second = (span.end_time_unix_nano for span in ends)
    assert second - first == 50 * SECOND
    assert before <= second <= time.time_ns()


def test_a_folder_without_captures_is_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the endpoint is asked for anything."""
    (tmp_path / "notes.json").write_text("{}")
    assert main(["send", str(tmp_path), "--endpoint", "http://127.0.0.1:1"]) == 3
    assert f"nothing to send in {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1800000000", "2027-01-15T08:00:00", "2027-01-15T09:00:00+01:00"])
def test_a_target_time_can_be_given(endpoint: Endpoint, tmp_path: Path, text: str) -> None:
    """Seconds since the epoch or ISO 8601, UTC when nothing else is said."""
    path = tmp_path / "traces.binpb"
    path.write_bytes(make_body())
    assert run_send(str(path), "--endpoint", endpoint.grpc_address, "--shift-to", text) == 0
    assert endpoint.received[0][0] == make_body(1_800_000_000 * SECOND)


@pytest.mark.parametrize(
    ("protocol", "answers"),
    [
        ("grpc", [(grpc.StatusCode.UNAVAILABLE, 3.0), (grpc.StatusCode.ABORTED, None)]),
        ("grpc", [(grpc.StatusCode.RESOURCE_EXHAUSTED, 3.0), (grpc.StatusCode.DATA_LOSS, None)]),
        ("http", [(503, 3.0), (502, None)]),
        ("http", [(429, 3.0), (504, None)]),
    ],
    ids=range(4),
)
def test_refusals_for_now_are_repeated(endpoint: Endpoint, protocol: str, answers: Any) -> None:
    """After the time the receiver says, else after growing pauses."""
    endpoint.answers = list(answers)
    waits: list[float] = []
    address = endpoint.grpc_address if protocol == "grpc" else endpoint.http_address
    with Sender(address, protocol=protocol, sleep=waits.append) as sender:
        sender.send("traces", make_body())
    assert waits[0] == 3.0
    assert len(waits) == sender.counts.retries == 2
    assert [body for body, _ in endpoint.received] == [make_body()]


@pytest.mark.parametrize(
    ("protocol", "answer"),
    [
        ("grpc", (grpc.StatusCode.INVALID_ARGUMENT, None)),
        ("grpc", (grpc.StatusCode.RESOURCE_EXHAUSTED, None)),
        ("http", (400, None)),
        ("http", (500, None)),
    ],
    ids=range(4),
)
def test_refusals_for_good_are_not_repeated(endpoint: Endpoint, protocol: str, answer: Any) -> None:
    """The next request is still sent; the exit code tells."""
    endpoint.answers = [answer]
    address = endpoint.grpc_address if protocol == "grpc" else endpoint.http_address
    with Sender(address, protocol=protocol) as sender:
        with pytest.raises(PermanentError, match="scripted"):
            sender.send("traces", make_body())
        sender.send("traces", make_body())
    assert (sender.counts.accepted, sender.counts.refused) == (1, 1)


def test_refusals_end_in_exit_code_1(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused requests and rejected items are both reported."""
    (tmp_path / "traces.binpb").write_bytes(make_body())
    endpoint.answers = [(grpc.StatusCode.INVALID_ARGUMENT, None)]
    assert run_send(str(tmp_path), "--endpoint", endpoint.grpc_address) == 1
    assert "refused 1 requests" in capsys.readouterr().err
    endpoint.success = b"\x0a\x08\x08\x07\x12\x04oops"  # rejected 7, error_message
    assert run_send(str(tmp_path), "--endpoint", endpoint.grpc_address) == 1
    err = capsys.readouterr().err
    assert "7 items" in err
    assert "oops" in err


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_patience_ends(protocol: str) -> None:
    """An endpoint that is not there is an error after a bounded time."""
    waits: list[float] = []
    told: list[str] = []
    sender = Sender("127.0.0.1:1", protocol=protocol, patience_seconds=5, sleep=waits.append)
    sender.on_wait = told.append
    with sender, pytest.raises(TransientError):
        sender.send("traces", make_body())
    assert 1 <= len(waits) < 10
    assert sum(waits) <= 5
    assert len(told) == 1, "who waits says so, once"
    assert told[0]


@pytest.mark.parametrize("endpoint_text", ["ftp://x:1", "http://", ""])
def test_wrong_endpoints_are_named(endpoint_text: str) -> None:
    """A usage error, not a trace."""
    with pytest.raises(UsageError, match="endpoint"):
        Sender(endpoint_text)


def test_a_web_page_is_no_acknowledgement() -> None:
    """A proxy's login page says 200 too: what it was sent is not received."""

    class Page(Handler):
        def respond(self) -> None:
            self.read_body()
            self.answer(200, b"<title>Log in</title>", **{"Content-Type": "text/html"})

    with HttpServer(Page) as server, Sender(server.url, protocol="http") as sender:
        with pytest.raises(PermanentError, match="HTML"):
            sender.send("traces", b"")
        assert sender.counts.accepted == 0


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize("endpoint", ["a..b:1", "x:99999", "x:port", "http://[::1", "a" * 70])
def test_an_endpoint_that_is_none_is_said_at_once(endpoint: str, protocol: str) -> None:
    with pytest.raises(UsageError, match="is not host:port"):
        Sender(endpoint, protocol=protocol)
