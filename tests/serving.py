"""A real `whyflame serve` as a child process, for tests of the whole path."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import grpc
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

READY = re.compile(r"OTLP/gRPC (\S+), OTLP/HTTP (\S+), page https?://(\S+)/")
EXPORT = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
SERVICES = {
    "traces": ("trace", "Trace"),
    "logs": ("logs", "Logs"),
    "metrics": ("metrics", "Metrics"),
}


@dataclass
class Serving:
    """One server on ephemeral ports.

    Attributes:
        data_dir: Kept between lives. settings: Configuration over quick test defaults.
    """

    data_dir: Path
    settings: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None
    grpc: str = ""
    http: str = ""
    api: str = ""

    def start(self) -> Self:
        """Start and wait until it says that it is ready."""
        config = {
            "otlp": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"},
            "http": {"listen": "127.0.0.1:0"},
            "settle": {"idle": "0.3s"},
            "segment": {"interval": "0.2s"},
        }
        merge(config, self.settings)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        file = self.data_dir.parent / f"{self.data_dir.name}.yaml"
        file.write_text(yaml.safe_dump(config))
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "whyflame",
                "serve",
                "--config",
                str(file),
                "--data-dir",
                str(self.data_dir),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := READY.search(line):
                self.grpc, self.http, self.api = found.groups()
                return self
        raise AssertionError("serve ended: " + "".join(lines))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._end()

    def kill(self) -> None:
        """SIGKILL of every process at once."""
        assert self.process is not None
        for pid in [self.process.pid, *self.children()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._end()

    def _end(self) -> int:
        assert self.process is not None
        code = self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def children(self) -> list[int]:
        """Process ids of the receivers and the store process."""
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def children_by_name(self) -> tuple[int, int]:
        """Process ids of the store process and of the first receiver, as they are now."""
        found: dict[str, int] = {}

        def both_live() -> bool:
            for pid in self.children():
                targets = _open_files(pid)
                if any(target.endswith(".duckdb") for target in targets):
                    found["store"] = pid
                elif any("/journal/r" in target for target in targets):
                    found["receiver"] = pid
            return len(found) == 2

        wait_until(both_live)
        return found["store"], found["receiver"]

    def send(self, bodies: Iterable[tuple[str, bytes]]) -> None:
        """Send OTLP requests over gRPC, each acknowledged."""
        with grpc.insecure_channel(self.grpc) as channel:
            for name, body in bodies:
                call = channel.unary_unary(EXPORT.format(*SERVICES[name]))
                answer = call(body, timeout=20)
                assert answer == b"" or name == "metrics", answer  # metrics are not used, it says

    def get(self, path: str) -> Any:
        """JSON of one API answer."""
        with urllib.request.urlopen(f"http://{self.api}{path}", timeout=20) as answer:
            return json.load(answer)

    def text(self, path: str) -> str:
        """Text of one answer."""
        with urllib.request.urlopen(f"http://{self.api}{path}", timeout=20) as answer:
            return answer.read().decode()

    def settle(self) -> None:
        """Everything received so far is settled when this returns."""
        wait_until(lambda: self.pending() == 0)
        request = urllib.request.Request(
            f"http://{self.api}/api/v1/segment",
            data=b"{}",
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()

    def pending(self) -> int:
        """Bytes journalled and not indexed yet, looked at on disk."""
        from whyflame.journal import pending_bytes

        return pending_bytes(self.data_dir / "journal")

    def totals(self, by: str = "") -> list[dict[str, Any]]:
        """Rows of `totals`; none before something is settled."""
        return self.get(f"/api/v1/totals?by={by}")["rows"]


def _open_files(pid: int) -> list[str]:
    """What a process has open; empty when it is gone."""
    found = []
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(str(link.readlink()))
    return found


def merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    """Deep update of a configuration."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def wait_until(condition: Callable[[], Any], seconds: float = 30) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def captures(folder: Path) -> list[tuple[str, bytes]]:
    """(signal, body) of a corpus scenario, in order of arrival."""
    return [(signal_of(file.name), file.read_bytes()) for file in sorted(folder.glob("*.binpb"))]


def signal_of(name: str) -> str:
    """Signal of a capture by its file name."""
    return next(signal for signal in SERVICES if signal in name)


def differences(row: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Where a row of totals is not what is expected."""
    return {key: (row[key], value) for key, value in expected.items() if row[key] != value}
