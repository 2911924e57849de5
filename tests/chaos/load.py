"""A sender that repeats what was refused, as Collectors and SDKs do, and knows what was acknowledged."""

from __future__ import annotations

import threading

import grpc
from tests.runs import run_request
from tests.serving import EXPORT

OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
]
ANSWER_SECONDS = 5


class Load(threading.Thread):
    """Sends runs one after the other, each until it is acknowledged.

    Args:
        address: OTLP/gRPC. first: Number of the first run. pause: Seconds between runs.
        size: Bytes of ballast in each run.
    """

    def __init__(self, address: str, first: int, pause: float = 0.01, size: int = 0) -> None:
        super().__init__(name="load", daemon=True)
        self._address = address
        self._pause = pause
        self._size = size
        self._ending = threading.Event()
        self.next = first
        self.refused = 0

    def run(self) -> None:
        """Until asked to finish; then the run in hand is still sent until it is acknowledged."""
        with grpc.insecure_channel(self._address, OPTIONS) as channel:
            call = channel.unary_unary(EXPORT.format("trace", "Trace"))
            while not self._ending.wait(self._pause):
                self._send(call, run_request(self.next, self._size))
                self.next += 1

    def _send(self, call: grpc.UnaryUnaryMultiCallable, body: bytes) -> None:
        while True:
            try:
                assert call(body, timeout=ANSWER_SECONDS) == b""
            except grpc.RpcError:
                self.refused += 1
                self._ending.wait(0.05)
            else:
                return

    def finish(self) -> None:
        """Send no new run; return when the last one is acknowledged."""
        self._ending.set()
        self.join(120)
        assert not self.is_alive(), "the last run was never acknowledged"
