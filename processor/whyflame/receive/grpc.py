"""OTLP/gRPC: raw-bytes handlers of the three Export methods, and the server around them."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc

from whyflame.config import cannot_listen
from whyflame.connections import HEAD_SECONDS, most_connections
from whyflame.errors import ConfigError
from whyflame.journal import Encoding, Signal
from whyflame.receive.health import Health
from whyflame.receive.tls import grpc_credentials
from whyflame.receive.warnings import encode_success
from whyflame.rpc_status import encode_protobuf

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.config import OtlpConfig
    from whyflame.config.callers import Callers
    from whyflame.receive.intake import Intake
    from whyflame.receive.status import Answer

__all__ = ["GrpcServer"]

logging.getLogger("grpc").addHandler(logging.NullHandler())

_SERVICES = {
    "opentelemetry.proto.collector.trace.v1.TraceService": Signal.TRACES,
    "opentelemetry.proto.collector.logs.v1.LogsService": Signal.LOGS,
    "opentelemetry.proto.collector.metrics.v1.MetricsService": Signal.METRICS,
}
_WORKERS = 16
_AGE_GRACE_SECONDS = 60
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class GrpcServer:
    """The OTLP/gRPC port of one process.

    Args:
        config: The block `otlp`.
        intake: Where requests go.
        callers: Who may send, and for which tenant.
    """

    def __init__(self, config: OtlpConfig, intake: Intake, callers: Callers) -> None:
        self._address = config.grpc
        self._tls = config.tls
        self._health = Health(tuple(_SERVICES))
        self._server = grpc.server(
            ThreadPoolExecutor(_WORKERS, thread_name_prefix="otlp-grpc"),
            interceptors=[_Gate(intake, callers)],
            options=_options(config),
        )
        exports = tuple(
            grpc.method_handlers_generic_handler(
                service,
                {"Export": grpc.unary_unary_rpc_method_handler(_export(intake, callers, signal))},
            )
            for service, signal in _SERVICES.items()
        )
        self._server.add_generic_rpc_handlers((*exports, self._health.handler()))

    def start(self) -> int:
        """Listen and serve; returns the port.

        Raises:
            ConfigError: The address cannot be used.
        """
        try:
            if self._tls.cert_file:
                credentials = grpc_credentials(self._tls)
                port = self._server.add_secure_port(self._address, credentials)
            else:
                port = self._server.add_insecure_port(self._address)
        except RuntimeError as error:
            raise ConfigError(cannot_listen(self._address, "otlp.grpc", error)) from error
        self._server.start()
        self._health.set_serving(is_serving=True)
        return port

    def begin_stop(self) -> None:
        """Tell probes that this server goes away; it still serves."""
        self._health.set_serving(is_serving=False)

    def stop(self, grace_seconds: float) -> None:
        """Send GOAWAY, finish what runs within the grace. Safe before start, and twice."""
        stopped = self._server.stop(grace_seconds)
        self._health.close()
        stopped.wait(grace_seconds + 1)


def _options(config: OtlpConfig) -> list[tuple[str, Any]]:
    age_ms = round(config.max_connection_age * 1000)
    return [
        ("grpc.max_receive_message_length", config.max_request_bytes),
        ("grpc.max_allowed_incoming_connections", most_connections()),
        ("grpc.server_handshake_timeout_ms", round(HEAD_SECONDS * 1000)),
        # Off for a single process: a second collector on the port must fail, not share it.
        ("grpc.so_reuseport", int(config.processes > 1)),
        ("grpc.max_connection_age_ms", age_ms if age_ms > 0 else (1 << 31) - 1),
        ("grpc.max_connection_age_grace_ms", _AGE_GRACE_SECONDS * 1000),
        # Clients may ping as often as they like; dead ones are noticed.
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _export(
    intake: Intake, callers: Callers, signal: Signal
) -> Callable[[bytes, grpc.ServicerContext], bytes]:
    def export(body: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            with intake.inflight.hold() as held:
                held.add(len(body))
                tenant = _identify(callers, context.invocation_metadata())
                warning = intake.accept("grpc", signal, Encoding.PROTOBUF, body, tenant)
                return encode_success(Encoding.PROTOBUF, warning)
        except Exception as error:
            _abort(context, intake.refuse("grpc", signal, error))
            raise  # `abort` has raised already

    return export


class _Gate(grpc.ServerInterceptor):  # type: ignore[misc,unused-ignore]
    """Turns senders away before their message is read: not authenticated, or no room now."""

    def __init__(self, intake: Intake, callers: Callers) -> None:
        self._intake = intake
        self._callers = callers

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """Decide by method and metadata alone."""
        service = handler_call_details.method.rpartition("/")[0].lstrip("/")
        signal = _SERVICES.get(service)
        if signal is None:
            return continuation(handler_call_details)
        try:
            _identify(self._callers, handler_call_details.invocation_metadata)
            self._intake.check_open()
        except Exception as error:  # noqa: BLE001 - every error must become an answer
            return _denial(self._intake.refuse("grpc", signal, error))
        return continuation(handler_call_details)


def _identify(callers: Callers, metadata: Any) -> str:
    """The tenant of a call. Raises PermanentError."""
    found: dict[str, str] = {}
    for key, value in metadata:
        if isinstance(value, str):
            # A header given twice is no valid tenant: nobody can slip one past a proxy's own.
            found[key] = f"{found[key]},{value}" if key in found else value
    return callers.identify(found.get("authorization"), found.get(callers.header))


def _denial(answer: Answer) -> grpc.RpcMethodHandler[Any, Any]:
    """A handler that answers without reading; stream-stream, since only those read on demand."""

    def deny(_requests: Any, context: grpc.ServicerContext) -> Any:
        _abort(context, answer)

    return grpc.stream_stream_rpc_method_handler(deny)


def _abort(context: grpc.ServicerContext, answer: Answer) -> None:
    context.set_trailing_metadata((("grpc-status-details-bin", encode_protobuf(answer.status)),))
    context.abort(_CODES[answer.status.code], answer.status.message)
