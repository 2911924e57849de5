"""OTLP/gRPC as the specification has it, tried with real clients."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from whyflame.errors import ConfigError
from whyflame.journal import Signal
from whyflame.rpc_status import decode_retry_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def refusal_of(call: Any, body: bytes, **options: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        call(body, timeout=10, **options)
    return caught.value


def retry_seconds(error: Any) -> float | None:
    return decode_retry_seconds(dict(error.trailing_metadata()).get("grpc-status-details-bin", b""))


def test_a_request_is_journalled_byte_for_byte(running: Any, make_body: Any) -> None:
    """Success leaves partial_success unset; the frame holds what was sent."""
    bodies = [make_body(number) for number in range(1, 4)]
    export = running.export()
    for body in bodies:
        assert export(body) == b""
    frames = running.frames()
    assert [frame.payload for frame in frames] == bodies
    assert {frame.signal for frame in frames} == {Signal.TRACES}
    assert all(frame.received_ns > 10**18 for frame in frames)


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_every_signal_is_taken(running: Any, signal: str) -> None:
    """An empty request is a success and keeps nothing."""
    assert running.export(signal)(b"") == b""
    assert running.frames() == []


def test_malformed_requests_are_refused_for_good(running: Any) -> None:
    """INVALID_ARGUMENT without RetryInfo."""
    error = refusal_of(running.export(), b"\xff\xffgarbage")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "traces" in error.details()
    assert retry_seconds(error) is None
    assert running.frames() == []


def test_gzip_is_inflated(running: Any, make_body: Any) -> None:
    """Compression is the transport's business."""
    body = make_body(100)
    running.export()(body, compression=grpc.Compression.Gzip)
    assert [frame.payload for frame in running.frames()] == [body]


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip], ids=["plain", "gzip"])
def test_the_size_is_limited_before_and_after_inflating(start: Any, compression: Any) -> None:
    """RESOURCE_EXHAUSTED without RetryInfo: the sender must not repeat it."""
    running = start(max_request_bytes=100_000)
    error = refusal_of(running.export(), bytes(100_001), compression=compression)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert retry_seconds(error) is None


def test_large_requests_pass(running: Any, make_body: Any) -> None:
    """One huge span does not cost its batch: far beyond the usual 4 MiB."""
    body = make_body(1, "x" * (20 << 20))
    assert running.export()(body, timeout=30) == b""
    assert running.frames()[0].payload == body


def test_too_much_pending_is_refused_for_now(start: Any, make_body: Any) -> None:
    """UNAVAILABLE with RetryInfo while the index stage is behind."""
    running = start(max_pending_bytes=1000)
    export = running.export()
    export(make_body(1, "x" * 2000))
    error = refusal_of(export, make_body())
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert (retry_seconds(error) or 0) > 0
    assert len(running.frames()) == 1


def test_unknown_methods_are_unimplemented(running: Any) -> None:
    """What we do not serve is said to be so."""
    call = running.channel().unary_unary("/opentelemetry.proto.x.Y/Export")
    assert refusal_of(call, b"").code() is grpc.StatusCode.UNIMPLEMENTED


def test_health_is_answered(running: Any) -> None:
    """Check and Watch for the server and its services; unknown ones are NOT_FOUND."""
    stub = health_pb2_grpc.HealthStub(running.channel())
    request = health_pb2.HealthCheckRequest
    for service in ("", "opentelemetry.proto.collector.trace.v1.TraceService"):
        assert stub.Check(request(service=service)).status == SERVING
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(request(service="unknown"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    unknown = stub.Watch(request(service="unknown"))
    assert next(unknown).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    unknown.cancel()


def test_watchers_see_the_stop_before_it_happens(running: Any) -> None:
    """NOT_SERVING comes first, then the connection goes."""
    watch = health_pb2_grpc.HealthStub(running.channel()).Watch(health_pb2.HealthCheckRequest())
    assert next(watch).status == SERVING
    running.receiver.close(2)
    assert next(watch).status == NOT_SERVING


def test_a_used_port_is_a_configuration_error(start: Any) -> None:
    """A second collector says so instead of sharing the port silently."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"otlp\.grpc"):
            start(grpc=address)
        with pytest.raises(ConfigError, match=r"otlp\.http"):
            start(http=address)


def test_tokens_are_demanded(start: Any, make_body: Any, tmp_path: Any) -> None:
    """Without a valid token nothing is read, journalled or told; health stays open."""
    file = tmp_path / "tokens"
    digest = "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
    file.write_text(f"# two teams\nfirst-token\n{digest}\n")
    running = start(tokens_file=str(file))
    export = running.export()
    for metadata in ((), (("authorization", "Bearer wrong"),), (("authorization", "first-token"),)):
        error = refusal_of(export, make_body(), metadata=metadata)
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    for token in ("first-token", "hello world"):
        export(make_body(), metadata=(("authorization", f"Bearer {token}"),))
    assert len(running.frames()) == 2
    health = health_pb2_grpc.HealthStub(running.channel())
    assert health.Check(health_pb2.HealthCheckRequest()).status == SERVING


def test_tokens_are_read_again_when_the_file_changes(
    start: Any, make_body: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rotation needs no restart; a file that vanishes locks nobody out."""
    monkeypatch.setattr("whyflame.config.tokens._CHECK_SECONDS", 0.0)
    file = tmp_path / "tokens"
    file.write_text("old")
    running = start(tokens_file=str(file))
    export = running.export()
    bearer: Callable[[str], Any] = lambda token: (("authorization", f"Bearer {token}"),)  # noqa: E731
    export(make_body(), metadata=bearer("old"))
    fresh = tmp_path / "fresh"
    fresh.write_text("new")
    fresh.replace(file)
    export(make_body(), metadata=bearer("new"))
    assert (
        refusal_of(export, make_body(), metadata=bearer("old")).code()
        is grpc.StatusCode.UNAUTHENTICATED
    )
    file.unlink()
    export(make_body(), metadata=bearer("new"))


@pytest.mark.parametrize("content", [None, "", "# only a comment\n"], ids=["absent", "empty", "no"])
def test_a_token_file_without_tokens_stops_the_start(
    start: Any, tmp_path: Any, content: str | None
) -> None:
    """A mistake in the file never means open to everybody."""
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError):
        start(tokens_file=str(file))
