"""A receiver process: what it acknowledged is in the journal, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.integration.receive.conftest import EXPORTS, OPTIONS

from whyflame.journal import JournalReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# What OTLP lets a sender repeat; a call that met the closing port may be cancelled.
RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
SCRIPT = """
import sys, pathlib
from whyflame.config import Config, OtlpConfig
from whyflame.receive import run_receiver
otlp = OtlpConfig(grpc=sys.argv[2], http=sys.argv[3], processes=int(sys.argv[5]))
def ready(found):
    print(found.grpc, found.http, flush=True)
run_receiver(Config(otlp=otlp), pathlib.Path(sys.argv[1]), sys.argv[4], ready)
"""


class Process:
    """A receiver in a process of its own."""

    def __init__(self, data_dir: Path, ports: tuple[str, str], stream: str, count: int) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(data_dir), *ports, stream, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout is not None
        self.grpc, self.http = self.child.stdout.readline().split()

    def end(self, number: int = signal.SIGKILL) -> int:
        """Signal it and wait."""
        if self.child.poll() is None:
            self.child.send_signal(number)
        code = self.child.wait(20)
        if self.child.stdout is not None:
            self.child.stdout.close()
        return code


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def make(
        ports: tuple[str, str] = ("127.0.0.1:0", "127.0.0.1:0"), stream: str = "r0", count: int = 1
    ) -> Process:
        started.append(Process(tmp_path, ports, stream, count))
        return started[-1]

    yield make
    for process in started:
        process.end()


def read_payloads(journal: Path) -> list[bytes]:
    payloads: list[bytes] = []
    for stream in sorted(journal.glob("r*")):
        reader = JournalReader(stream)
        payloads += [frame.payload for frame in reader.read(1 << 30)]
        reader.close()
    return payloads


class Load:
    """Clients that send different requests until told to stop, and remember what happened."""

    def __init__(self, address: str, make_body: Callable[..., bytes], clients: int = 4) -> None:
        self.acked: list[bytes] = []
        self.refused: list[Any] = []
        self.stopping = threading.Event()
        self._address = address
        self._make_body = make_body
        self._pool = ThreadPoolExecutor(clients)
        self._running = [self._pool.submit(self._send, number) for number in range(clients)]

    def _send(self, client: int) -> None:
        with grpc.insecure_channel(self._address, OPTIONS) as channel:
            export = channel.unary_unary(EXPORTS["traces"])
            number = 0
            while not self.stopping.is_set():
                number += 1
                body = self._make_body(20, f"{client}-{number}" + "x" * 1000)
                try:
                    export(body, timeout=10)
                except grpc.RpcError as error:
                    self.refused.append(error)
                    return
                self.acked.append(body)

    def wait_for(self, count: int) -> None:
        """Until so many requests were acknowledged."""
        deadline = time.monotonic() + 20
        while len(self.acked) < count:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def stop(self) -> None:
        """Wait for the clients."""
        self.stopping.set()
        for one in self._running:
            one.result(20)
        self._pool.shutdown()


@pytest.mark.parametrize("killed_after", [20, 60])
def test_sigkill_under_load_loses_nothing_acknowledged(
    spawn: Any, make_body: Any, tmp_path: Path, killed_after: int
) -> None:
    """Every acknowledged request is there, byte for byte, once; at most unfinished ones besides."""
    process = spawn()
    load = Load(process.grpc, make_body)
    load.wait_for(killed_after)
    process.end(signal.SIGKILL)
    load.stop()
    journalled = read_payloads(tmp_path / "journal")
    assert len(set(journalled)) == len(journalled)
    assert set(load.acked) <= set(journalled)
    assert len(journalled) - len(load.acked) <= 4
    assert {error.code() for error in load.refused} <= RETRYABLE


def test_sigterm_under_load_finishes_what_was_begun(
    spawn: Any, make_body: Any, tmp_path: Path
) -> None:
    """Acknowledged equals journalled, senders are asked to repeat, and the process ends well."""
    process = spawn()
    load = Load(process.grpc, make_body)
    load.wait_for(40)
    began = time.monotonic()
    assert process.end(signal.SIGTERM) == 0
    assert time.monotonic() - began < 8
    load.stop()
    assert sorted(load.acked) == sorted(read_payloads(tmp_path / "journal"))
    assert {error.code() for error in load.refused} <= RETRYABLE


def test_a_restart_on_the_same_directory_goes_on(
    spawn: Any, make_body: Any, tmp_path: Path
) -> None:
    """A killed receiver leaves neither a lock nor a port behind."""
    bodies = [make_body(1, name) for name in "ab"]
    address = "127.0.0.1:0"
    for body in bodies:
        process = spawn((address, "127.0.0.1:0"))
        address = process.grpc
        with grpc.insecure_channel(address, OPTIONS) as channel:
            channel.unary_unary(EXPORTS["traces"])(body, timeout=10)
        process.end(signal.SIGKILL)
    assert read_payloads(tmp_path / "journal") == bodies


def test_processes_share_a_port(spawn: Any, make_body: Any, tmp_path: Path) -> None:
    """Two receivers on one port journal into streams of their own."""
    first = spawn(stream="r0", count=2)
    second = spawn((first.grpc, first.http), stream="r1", count=2)
    assert (second.grpc, second.http) == (first.grpc, first.http)
    bodies = [make_body(1, str(number)) for number in range(40)]
    for body in bodies:
        with grpc.insecure_channel(first.grpc, OPTIONS) as channel:
            channel.unary_unary(EXPORTS["traces"])(body, timeout=10)
    assert sorted(read_payloads(tmp_path / "journal")) == sorted(bodies)
    sizes = [
        sum(file.stat().st_size for file in (tmp_path / "journal" / name).glob("*.wfj"))
        for name in ("r0", "r1")
    ]
    assert all(sizes)


def test_probes_are_answered_while_serving(spawn: Any) -> None:
    """The process is healthy as soon as it says that it is ready."""
    process = spawn()
    with grpc.insecure_channel(process.grpc, OPTIONS) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_receiver_does_not_outlive_its_parent(tmp_path: Path) -> None:
    """When the supervisor is killed, the ports become free by themselves."""
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', *sys.argv[1:]])\n"
        "time.sleep(60)\n"
    )
    ports = ("127.0.0.1:0", "127.0.0.1:0")
    with subprocess.Popen(
        [sys.executable, "-c", script, SCRIPT, str(tmp_path), *ports, "r0", "1"],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().split()[0]
        parent.kill()
        parent.stdout.read()  # ends when the receiver, which holds the pipe too, has ended
    with grpc.insecure_channel(address, OPTIONS) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary(EXPORTS["traces"])(b"", timeout=2)
