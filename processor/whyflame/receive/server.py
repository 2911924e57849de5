"""One receiver process: both OTLP ports over one journal stream, from start to orderly stop."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.config import parse_address
from whyflame.config.callers import Callers
from whyflame.connections import raise_descriptor_limit
from whyflame.journal import JournalWriter, PendingLimit
from whyflame.receive.grpc import GrpcServer
from whyflame.receive.http import HttpServer, build_app
from whyflame.receive.intake import Intake
from whyflame.receive.limits import InflightBytes
from whyflame.receive.memory import IdleMemory, keep_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whyflame.config import Config

__all__ = ["Addresses", "Receiver", "run_receiver"]

_LOG = logging.getLogger(__name__)
_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a receiver listens, host:port with the ports it really got."""

    grpc: str
    http: str


class Receiver:
    """Both ports and the journal stream behind them.

    `start` may raise ConfigError or StoreError and then leaves nothing open. `close` is safe before
    start and twice; it blocks up to the grace, and everything acknowledged is on disk afterwards.

    Args:
        config: The whole configuration; `otlp` and `journal` are used.
        journal_dir: Directory of all streams.
        stream: This receiver's stream.
    """

    def __init__(self, config: Config, journal_dir: Path, stream: str) -> None:
        otlp = config.otlp
        callers = Callers(otlp.auth)
        self._writer = JournalWriter(
            journal_dir,
            stream,
            segment_bytes=config.journal.segment_bytes,
            max_queued_bytes=otlp.max_inflight_bytes,
        )
        inflight = InflightBytes(otlp.max_inflight_bytes)
        self._intake = Intake(
            self._writer, PendingLimit(journal_dir, otlp.max_pending_bytes), inflight
        )
        self._memory = IdleMemory(inflight)
        self._config = otlp
        self._grpc = GrpcServer(otlp, self._intake, callers)
        self._http = HttpServer(otlp, build_app(otlp, self._intake, callers), _GRACE_SECONDS)

    def start(self) -> Addresses:
        """Listen on both ports."""
        try:
            http_port = self._http.start()
            grpc_port = self._grpc.start()
        except BaseException:
            self.close(0)
            raise
        return Addresses(
            _with_port(self._config.grpc, grpc_port), _with_port(self._config.http, http_port)
        )

    def tick(self) -> None:
        """Give memory back; call about once a second."""
        self._memory.tick()

    def close(self, grace_seconds: float = _GRACE_SECONDS) -> None:
        """Not serving, GOAWAY, drain, sync, release."""
        self._grpc.begin_stop()
        self._intake.is_stopping = True
        stops = [
            threading.Thread(target=server.stop, args=(grace_seconds,))
            for server in (self._grpc, self._http)
        ]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        self._writer.close()


def run_receiver(
    config: Config,
    data_dir: Path,
    stream: str,
    on_ready: Callable[[Addresses], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until the parent process is gone. Main thread only.

    Args:
        config: The whole configuration.
        data_dir: Journal streams live in its `journal`.
        stream: Name of this process's stream, unique among the processes: "r0", "r1", ...
        on_ready: Called once both ports accept.
    """
    keep_memory()
    raise_descriptor_limit()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    parent = os.getppid()
    receiver = Receiver(config, data_dir / "journal", stream)
    addresses = receiver.start()
    # What the start left behind stays: looks for garbage need not pass it.
    gc.freeze()
    _LOG.debug("receiving OTLP on %s (gRPC) and %s (HTTP)", addresses.grpc, addresses.http)
    if on_ready is not None:
        on_ready(addresses)
    while not stopping.wait(1.0) and os.getppid() == parent:
        receiver.tick()
    receiver.close()


def _with_port(address: str, port: int) -> str:
    host, _ = parse_address(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
