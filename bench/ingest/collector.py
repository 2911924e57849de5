"""A real OpenTelemetry Collector beside whyflame: `python bench/ingest/collector.py`.

Built by `scripts/peers` (needs Go). As an upper bound: how fast it acknowledges the same requests
when it throws them away, keeping nothing, where whyflame has them on disk. As a client: the same
requests through its sending queue into whyflame, until all are stored. One JSON line a round, then
ratios. CPU times hold on a busy machine; rates do not.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import yaml
from load import Client, Plan
from server import HELD, Server, cpu_of
from whole_path import measure
from workload import Workload

BUILD = Path(__file__).parents[2] / "scripts" / "peers"
NOWHERE = {"nop": {}}
WAIT_SECONDS = 30.0


def whyflame_at(address: str) -> dict[str, Any]:
    """An exporter that sends to whyflame and holds back nothing."""
    return {
        "otlp_grpc": {
            "endpoint": address,
            "tls": {"insecure": True},
            "compression": "none",
            "sending_queue": {"queue_size": 100_000, "num_consumers": 4},
        }
    }


class Collector:
    """A Collector with one exporter; takes OTLP/gRPC at `address`.

    Args:
        binary: As built. exporter: The block `exporters`.
    """

    def __init__(self, binary: str, exporter: dict[str, Any]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        grpc = {"endpoint": self.address, "max_recv_msg_size_mib": 64}
        self._folder = tempfile.TemporaryDirectory()
        self._config = Path(self._folder.name) / "collector.yaml"
        pipeline = {"receivers": ["otlp"], "exporters": list(exporter)}
        self._config.write_text(
            yaml.safe_dump(
                {
                    "receivers": {"otlp": {"protocols": {"grpc": grpc}}},
                    "exporters": exporter,
                    "service": {
                        "pipelines": {"traces": pipeline},
                    },
                }
            )
        )
        self._binary = binary

    def __enter__(self) -> Self:
        self._process = subprocess.Popen([self._binary, "--config", f"file:{self._config}"])
        host, _, port = self.address.rpartition(":")
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the Collector does not start") from None
                time.sleep(0.1)
            else:
                return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
        self._folder.cleanup()

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        return cpu_of(self._process.pid)


def as_bound(binary: str, workload: Workload, requests: int) -> dict[str, Any]:
    """Acknowledgements of a Collector that keeps nothing."""
    with Collector(binary, NOWHERE) as collector:
        Client(collector.address, workload, Plan(requests=12)).run()
        before = collector.cpu_seconds()
        outcome = Client(collector.address, workload, Plan(requests=requests)).run()
        cpu = collector.cpu_seconds() - before
    return {
        "cpu_us_span": round(cpu / (outcome.acked * workload.spans) * 1e6, 1)
    } | outcome.figures(workload.spans)


def as_client(binary: str, workload: Workload, requests: int) -> dict[str, Any]:
    """The same through a Collector into whyflame, until all is stored."""
    with Server(HELD) as server, Collector(binary, whyflame_at(server.grpc)) as collector:
        before = server.cpu_seconds()
        outcome = Client(collector.address, workload, Plan(requests=requests)).run()
        spans = outcome.acked * workload.spans
        stored_at = server.wait_indexed(spans, 600)
        after = server.cpu_seconds()
        stored = server.metric("indexed_spans_total")
    return {
        "stored_spans_s": round(spans / (stored_at - outcome.began)),
        "stored_twice_or_lost": round(stored - spans),
        "cpu_us_span": {
            role: round((after[role] - before[role]) / spans * 1e6, 1) for role in after
        },
    } | outcome.figures(workload.spans)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=200, help="of 512 spans")
    parser.add_argument("--content", choices=["off", "features"], default="features")
    options = parser.parse_args()
    built = subprocess.run([str(BUILD)], stdout=subprocess.PIPE, text=True, check=False)
    if not built.stdout:
        print("no Collector here: nothing to compare with")
        return
    binary = f"{built.stdout.strip()}/collector"
    workload = Workload(content=options.content == "features")
    acked, stored = [], []
    for _ in range(options.rounds):
        bound = as_bound(binary, workload, options.requests)
        direct = measure(workload, options.requests, HELD)
        through = as_client(binary, workload, options.requests)
        print(json.dumps({"bound": bound, "whyflame": direct, "through": through}), flush=True)
        acked.append(direct["acked_spans_s"] / bound["acked_spans_s"])
        stored.append(through["stored_spans_s"] / direct["stored_spans_s"])
    ratios = {
        "acked_whyflame_over_collector": round(statistics.median(acked), 2),
        "stored_through_collector_over_direct": round(statistics.median(stored), 2),
    }
    print(json.dumps(ratios | {"rounds": options.rounds}))


if __name__ == "__main__":
    main()
