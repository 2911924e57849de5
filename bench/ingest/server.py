"""A real `whyflame serve` under measurement: CPU and memory of each process, metrics, addresses."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import yaml

READY = re.compile(r"OTLP/gRPC (\S+), OTLP/HTTP (\S+), page http://(\S+)/")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
HELD: dict[str, Any] = {"settle": {"idle": "1h", "max_hold": "1h"}, "segment": {"interval": "1h"}}
"""Settings under which nothing is settled until asked for, so that stages can be told apart."""


class Server:
    """Starts with settings on ports of its own; removes its files at the end.

    Args:
        settings: Configuration over the defaults.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._directory = Path(tempfile.mkdtemp(prefix="whyflame-bench-"))
        self._process: subprocess.Popen[str] | None = None
        self.grpc = self.http = self.api = ""
        self.pids: dict[str, int] = {}

    def __enter__(self) -> Self:
        config: dict[str, Any] = {
            "otlp": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"},
            "http": {"listen": "127.0.0.1:0"},
        }
        for section, values in self._settings.items():
            config.setdefault(section, {}).update(values)
        file = self._directory / "config.yaml"
        file.write_text(yaml.safe_dump(config))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "whyflame", "serve", "--config", str(file),
             "--data-dir", str(self._directory / "data")],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if found := READY.search(line):
                self.grpc, self.http, self.api = found.groups()
                break
        else:
            raise SystemExit("serve ended: " + "".join(lines))
        threading.Thread(target=self._drain, daemon=True).start()
        self._find_processes()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            print(line, end="", file=sys.stderr)

    def _find_processes(self) -> None:
        """The supervisor's children by what they hold open; what the store started is `worker`."""
        assert self._process is not None
        self.pids = {"supervisor": self._process.pid}
        children = _children()
        for pid in children.get(self._process.pid, ()):
            try:
                if _is_tracker(pid):
                    continue
                files = [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
            except OSError:
                continue
            role = "store" if any(file.endswith(".duckdb") for file in files) else "receiver"
            self.pids[role if role not in self.pids else f"{role} {pid}"] = pid

    def _processes(self) -> dict[str, int]:
        """All of now: the store starts its worker when there is much to settle."""
        workers = [pid for pid in _children().get(self.pids["store"], ()) if not _is_tracker(pid)]
        return self.pids | ({"worker": workers[0]} if workers else {})

    def cpu_seconds(self) -> dict[str, float]:
        """User and system time so far, by process."""
        return {role: cpu_of(pid) for role, pid in self._processes().items()}

    def resident_mib(self) -> dict[str, float]:
        """Resident memory by process."""
        return {
            role: int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MIB
            for role, pid in self._processes().items()
        }

    def metric(self, name: str) -> float:
        """Sum of a metric over its labels; 0 before it exists."""
        with urllib.request.urlopen(f"http://{self.api}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        wanted = f"whyflame_{name}"
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith((wanted + " ", wanted + "{"))
        )

    def wait_indexed(self, spans: float, timeout: float) -> float:
        """Wait until so many spans are stored; the time at which they were seen to be."""
        deadline = time.perf_counter() + timeout
        while time.perf_counter() < deadline:
            if self.metric("indexed_spans_total") >= spans:
                return time.perf_counter()
            time.sleep(0.4)  # asking costs CPU as well
        raise SystemExit(f"only {self.metric('indexed_spans_total'):.0f} of {spans:.0f} indexed")

    def settle_now(self) -> None:
        """Settle and segment everything, as `whyflame segment` does."""
        subprocess.run(
            [sys.executable, "-m", "whyflame", "segment", "--url", f"http://{self.api}"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def stored_bytes(self) -> int:
        """Bytes of database and journal."""
        files = (self._directory / "data").rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())


def _children() -> dict[int, list[int]]:
    """Processes by their parent."""
    found: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found.setdefault(parent, []).append(int(status.parent.name))
    return found


def _is_tracker(pid: int) -> bool:
    try:
        return "resource_tracker" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return True


def cpu_of(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
