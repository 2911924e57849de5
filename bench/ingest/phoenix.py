"""Arize Phoenix under the same load client, next to whyflame: `python bench/ingest/phoenix.py`.

Phoenix is installed from its package into a cache outside the repository (--cache), bound to the
loopback address, and given a bounded number of spans. Each round measures both, one after the
other; ratios are taken per round. Prints one JSON line a round and the medians of the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from load import Client, Plan
from server import HELD, PAGE_MIB, TICKS
from whole_path import measure
from workload import Workload

HTTP_PORT, GRPC_PORT = 21_710, 21_711
# Phoenix binds its gRPC port to all addresses; nothing else is changed.
RUN = """
import sys
from grpc.aio import _server
bind = _server.Server.add_insecure_port
_server.Server.add_insecure_port = lambda self, address: bind(
    self, address.replace("[::]", "127.0.0.1")
)
from phoenix.server.main import main
sys.argv = ["phoenix", "serve"]
main()
"""


def install(cache: Path) -> Path:
    """The Python of an environment with Phoenix; made when it is not there."""
    python = cache / "bin" / "python"
    if not python.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(cache)], check=True)
    if not list(cache.glob("lib/python*/site-packages/phoenix/server")):
        pip = [str(python), "-m", "pip", "install", "-q", "arize-phoenix"]
        subprocess.run(pip, check=True)
    return python


class Phoenix:
    """One server on an empty SQLite database, its default."""

    def __init__(self, python: Path) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="phoenix-bench-"))
        environment = dict(
            os.environ,
            PHOENIX_WORKING_DIR=str(self._directory),
            PHOENIX_HOST="127.0.0.1",
            PHOENIX_PORT=str(HTTP_PORT),
            PHOENIX_GRPC_PORT=str(GRPC_PORT),
            PHOENIX_TELEMETRY_ENABLED="false",
            PHOENIX_ALLOW_EXTERNAL_RESOURCES="false",
        )
        with (self._directory / "log").open("w") as log:
            self._process = subprocess.Popen(
                [str(python), "-c", RUN],
                cwd=self._directory,  # else it would import this file
                env=environment,
                stdout=log,
                stderr=log,
            )

    def wait_ready(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{HTTP_PORT}/healthz", timeout=1).read()
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.5)
        raise SystemExit("phoenix did not start: " + (self._directory / "log").read_text()[-2000:])

    def rows(self) -> int:
        """Spans that a query can see."""
        with contextlib.suppress(sqlite3.Error):
            address = f"file:{self._directory / 'phoenix.db'}?mode=ro"
            with contextlib.closing(sqlite3.connect(address, uri=True, timeout=5)) as database:
                return int(database.execute("SELECT count(*) FROM spans").fetchone()[0])
        return 0

    def cpu_seconds(self) -> float:
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mib(self) -> float:
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * PAGE_MIB

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)


def measure_phoenix(python: Path, workload: Workload, requests: int, timeout: float) -> dict:
    """Accepted and stored spans a second, CPU a span."""
    server = Phoenix(python)
    try:
        server.wait_ready(180)
        before = server.cpu_seconds()
        target = f"127.0.0.1:{GRPC_PORT}"
        outcome = Client(target, workload, Plan(requests=requests)).run()
        spans = outcome.acked * workload.spans
        deadline = time.perf_counter() + timeout
        while (stored := server.rows()) < spans and time.perf_counter() < deadline:
            time.sleep(0.25)
        seconds = time.perf_counter() - outcome.began
        return {
            "stored_spans_s": round(stored / seconds, 1),
            "server_cpu_us_span": round((server.cpu_seconds() - before) / max(1, stored) * 1e6, 1),
            "rss_mib": round(server.resident_mib()),
            "stored_spans": stored,
        } | outcome.figures(workload.spans)
    finally:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = Path.home() / ".cache" / "whyflame-bench" / "phoenix"
    parser.add_argument("--cache", type=Path, default=default, help="environment for Phoenix")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=4, help="of 512 spans, for Phoenix")
    parser.add_argument("--our-requests", type=int, default=200)
    options = parser.parse_args()
    try:
        python = install(options.cache)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"phoenix cannot be installed here ({error}): no ratios")
        return
    workload = Workload(content=True)
    ratios: dict[str, list[float]] = {"acked": [], "stored": [], "cpu": []}
    for _ in range(options.rounds):
        theirs = measure_phoenix(python, workload, options.requests, 300)
        ours = measure(workload, options.our_requests, HELD)
        print(json.dumps({"phoenix": theirs, "whyflame": ours}), flush=True)
        ratios["acked"].append(ours["acked_spans_s"] / theirs["acked_spans_s"])
        ratios["stored"].append(ours["stored_spans_s"] / theirs["stored_spans_s"])
        ratios["cpu"].append(theirs["server_cpu_us_span"] / ours["server_cpu_us_span"])
    medians: dict[str, Any] = {name: round(statistics.median(r), 1) for name, r in ratios.items()}
    print(json.dumps({"whyflame_over_phoenix": medians, "rounds": options.rounds}))


if __name__ == "__main__":
    main()
