"""grpc.health.v1: answers probes, also while every worker waits for the disk."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Health"]

_SERVICE = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


class Health:
    """State of the server and of its OTLP services, which share one state.

    Args:
        services: Full names of the services that may be asked about, besides "".
    """

    def __init__(self, services: tuple[str, ...]) -> None:
        self._known = frozenset({"", *services})
        self._state = _NOT_SERVING
        self._lock = threading.Lock()
        self._watchers: set[Callable[[bytes | None], None]] = set()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="grpc-health")

    def set_serving(self, *, is_serving: bool) -> None:
        """Change the state and tell who watches."""
        with self._lock:
            self._state = _SERVING if is_serving else _NOT_SERVING
            for send in self._watchers:
                send(self._state)

    def handler(self) -> grpc.GenericRpcHandler:
        """The service to add to a server."""

        def check(request: bytes, context: grpc.ServicerContext) -> bytes:
            if _service_of(request) not in self._known:
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return self._state

        def watch(
            request: bytes,
            context: grpc.ServicerContext,
            send_response_callback: Callable[[bytes | None], None],
        ) -> None:
            self._watch(request, context, send_response_callback)

        # Probes get a thread of their own, and a watcher none at all (as grpcio's own servicer).
        for behaviour in (check, watch):
            setattr(behaviour, "experimental_thread_pool", self._pool)  # noqa: B010
        setattr(watch, "experimental_non_blocking", True)  # noqa: B010
        methods: dict[str, Any] = {
            "Check": grpc.unary_unary_rpc_method_handler(check),
            "Watch": grpc.unary_stream_rpc_method_handler(watch),
        }
        return grpc.method_handlers_generic_handler(_SERVICE, methods)

    def close(self) -> None:
        """End every Watch, so that the server need not wait for them, and free the thread."""
        with self._lock:
            watchers, self._watchers = self._watchers, set()
        for send in watchers:
            send(None)
        self._pool.shutdown(wait=False)

    def _watch(
        self,
        request: bytes,
        context: grpc.ServicerContext,
        send: Callable[[bytes | None], None],
    ) -> None:
        def forget() -> None:
            with self._lock:
                is_watching = send in self._watchers
                self._watchers.discard(send)
            if is_watching:
                send(None)

        is_known = _service_of(request) in self._known
        with self._lock:
            send(self._state if is_known else _SERVICE_UNKNOWN)
            if is_known:
                self._watchers.add(send)
        context.add_callback(forget)


def _service_of(request: bytes) -> str:
    """HealthCheckRequest.service (field 1, a string shorter than 128 bytes in every sane case)."""
    if len(request) >= 2 and request[0] == 0x0A:  # noqa: PLR2004 - tag of field 1, then its length
        return request[2 : 2 + request[1]].decode(errors="replace")
    return ""
