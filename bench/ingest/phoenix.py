"""Arize Phoenix under the same load client, next to whyflame: `python bench/ingest/phoenix.py`.

Phoenix is installed from its package into a cache outside the repository (--cache) and bound to the
loopback address. Each round measures both, one after the other, the first one in turn: the same
requests over gRPC, four in flight, to a server that has stored some before. Ratios are taken per
round. Prints one JSON line a round and the medians of the ratios.

Without --seconds each gets a number of spans that fits into its queues and is waited for until all
are stored: 10,240 for Phoenix (its queue takes 20,000) keep it busy for a minute and a half. With
--seconds both are offered whatever they take for so long, refusals included, and what is stored at
the end of it counts: the rate that either keeps up.
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
from functools import partial
from pathlib import Path
from typing import Any

from load import Client, Plan
from server import HELD, PAGE_MIB, TICKS, Server
from whole_path import WARM_UP, measure
from workload import Workload

Figures = dict[str, Any]

HTTP_PORT, GRPC_PORT = 21_710, 21_711
PHOENIX_WARM_UP = 2
WAIT_SECONDS = 600
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


def measure_phoenix(python: Path, workload: Workload, plan: Plan, timeout: float) -> Figures:
    """Accepted and stored spans a second, CPU a stored span.

    Args:
        python: With Phoenix. workload, plan: What to send.
        timeout: Seconds to wait until all is stored; 0 takes what is stored when sending ends.
    """
    with contextlib.closing(Phoenix(python)) as server:
        server.wait_ready(180)
        target = f"127.0.0.1:{GRPC_PORT}"
        warm = Client(target, workload, Plan(requests=PHOENIX_WARM_UP)).run().acked * workload.spans
        _wait_rows(server, warm, WAIT_SECONDS)
        before, known = server.cpu_seconds(), server.rows()
        outcome = Client(target, workload, plan).run()
        _wait_rows(server, known + outcome.acked * workload.spans, timeout)
        seconds = time.perf_counter() - outcome.began
        stored = server.rows() - known
        cpu = server.cpu_seconds() - before
        return _figures(stored, seconds, cpu, server.resident_mib()) | outcome.figures(
            workload.spans
        )


def _wait_rows(server: Phoenix, rows: int, timeout: float) -> None:
    deadline = time.perf_counter() + timeout
    while server.rows() < rows and time.perf_counter() < deadline:
        time.sleep(0.25)


def measure_steady(workload: Workload, plan: Plan) -> Figures:
    """The same of whyflame for a time: what is stored when it ends."""
    with Server(HELD) as server:
        warm = Client(server.grpc, workload, Plan(requests=WARM_UP)).run()
        server.wait_indexed(warm.acked * workload.spans, 60)
        before = server.cpu_seconds()
        outcome = Client(server.grpc, workload, plan).run()
        stored = int(server.metric("indexed_spans_total")) - warm.acked * workload.spans
        seconds = time.perf_counter() - outcome.began
        cpu = sum(server.cpu_seconds().values()) - sum(before.values())
        memory = sum(server.resident_mib().values())
    return _figures(stored, seconds, cpu, memory) | outcome.figures(workload.spans)


def _figures(stored: int, seconds: float, cpu: float, memory: float) -> Figures:
    return {
        "stored_spans": stored,
        "stored_spans_s": round(stored / seconds, 1),
        "server_cpu_us_span": round(cpu / max(1, stored) * 1e6, 1),
        "rss_mib": round(memory),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = Path.home() / ".cache" / "whyflame-bench" / "phoenix"
    parser.add_argument("--cache", type=Path, default=default, help="environment for Phoenix")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20, help="of 512 spans, for Phoenix")
    parser.add_argument("--our-requests", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=0.0, help="offer all they take so long")
    options = parser.parse_args()
    try:
        python = install(options.cache)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"phoenix cannot be installed here ({error}): no ratios")
        return
    workload = Workload(content=True)
    ratios: dict[str, list[float]] = {"acked": [], "stored": [], "cpu": []}
    for number in range(options.rounds):
        both = {
            "phoenix": partial(
                measure_phoenix,
                python,
                workload,
                _plan(options, options.requests),
                0.0 if options.seconds else WAIT_SECONDS,
            ),
            "whyflame": partial(measure_steady, workload, _plan(options, 0))
            if options.seconds
            else partial(measure, workload, options.our_requests, HELD),
        }
        found = {name: both[name]() for name in sorted(both, reverse=bool(number % 2))}
        theirs, ours = found["phoenix"], found["whyflame"]
        print(json.dumps({"first": next(iter(found)), **found}), flush=True)
        ratios["acked"].append(ours["acked_spans_s"] / theirs["acked_spans_s"])
        ratios["stored"].append(ours["stored_spans_s"] / theirs["stored_spans_s"])
        ratios["cpu"].append(theirs["server_cpu_us_span"] / ours["server_cpu_us_span"])
    medians: dict[str, Any] = {name: round(statistics.median(r), 1) for name, r in ratios.items()}
    print(json.dumps({"whyflame_over_phoenix": medians, "rounds": options.rounds}))


def _plan(options: argparse.Namespace, requests: int) -> Plan:
    if options.seconds:
        return Plan(seconds=options.seconds, first=1000)
    return Plan(requests=requests, first=1000)


if __name__ == "__main__":
    main()
