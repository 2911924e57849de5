"""The gRPC side of the doubles, on a port of its own, and how another port leads to it."""

from __future__ import annotations

import select
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError

from tests.doubles.pyroscope.errors import GRPC_STATUS, Refusal

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_MAX_MESSAGE = 100 << 20


class GrpcPort:
    """Serves unary methods that take and give bytes.

    Args:
        methods: Full method name -> function of (tenant header, request) to response.
    """

    def __init__(self, methods: dict[str, Callable[[str | None, bytes], bytes]]) -> None:
        self._server = grpc.server(
            ThreadPoolExecutor(max_workers=4),
            options=[("grpc.max_receive_message_length", _MAX_MESSAGE)],
        )
        self._server.add_generic_rpc_handlers([_Handler(methods)])
        self._port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait()


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, methods: dict[str, Callable[[str | None, bytes], bytes]]) -> None:
        self._methods = methods

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        function = self._methods.get(call.method)
        if function is None:
            return None
        tenant = dict(call.invocation_metadata).get("x-scope-orgid")

        def handle(request: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                return function(str(tenant) if tenant else None, request)
            except DecodeError as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            except Refusal as refusal:
                context.abort(_CODES[GRPC_STATUS[refusal.code]], refusal.message)
            raise AssertionError("abort raises")

        return grpc.unary_unary_rpc_method_handler(handle)


def join_sockets(one: socket.socket, other: socket.socket) -> None:
    """Pass on what either side sends, until one of them closes."""
    opposite = {one: other, other: one}
    while True:
        for source in select.select(list(opposite), [], [])[0]:
            data = source.recv(1 << 16)
            if not data:
                return
            opposite[source].sendall(data)
