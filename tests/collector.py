"""A real OpenTelemetry Collector as `scripts/peers` built it, as a child process."""

from __future__ import annotations

import secrets
import socket
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import yaml

from tests.built import peer
from tests.serving import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Below the ports that the kernel gives to other tests, which run at the same time.
PORTS = range(15_000, 30_000)


def free_port() -> int:
    """A port that nobody listens on now, and that nobody is given until it is asked for."""
    while True:
        # The seed of the tests is the same in each worker.
        port = secrets.choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def collecting(folder: Path, exporter: dict[str, Any]) -> Iterator[str]:
    """Run a Collector that takes OTLP/gRPC and passes it on; gives its address.

    Args:
        folder: For its configuration and log. exporter: The block `exporters`, one entry.
    """
    address = f"127.0.0.1:{free_port()}"
    signals = ("traces", "logs")
    config = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": address}}}},
        "exporters": exporter,
        "service": {
            "pipelines": {
                name: {"receivers": ["otlp"], "exporters": list(exporter)} for name in signals
            },
        },
    }
    file = folder / "collector.yaml"
    file.write_text(yaml.safe_dump(config))
    with (folder / "collector.log").open("w") as log:
        process = subprocess.Popen(
            [peer("collector"), "--config", f"file:{file}"], stderr=log, stdout=log
        )
        try:
            wait_until(lambda: _listens(address, process, folder / "collector.log"))
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _listens(address: str, process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1):
            return True
    except OSError:
        return False
