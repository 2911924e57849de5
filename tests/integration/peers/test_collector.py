"""A real Collector with retry and queue in front: receivers die, nothing is lost or doubled."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from tests.built import BUILD_SECONDS
from tests.collector import collecting, free_port
from tests.runs import CALLS, run_request
from tests.serving import EXPORT, Serving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.timeout(240 + BUILD_SECONDS)]

RUNS = 150
LIVES = 2
PATIENT = {
    "retry_on_failure": {
        "initial_interval": "100ms", "max_interval": "500ms", "max_elapsed_time": "0s",
    },
    "sending_queue": {"queue_size": 10_000, "num_consumers": 4},
}  # fmt: skip


def exporter_to(serving: Serving, protocol: str) -> dict[str, Any]:
    """The Collector's exporter."""
    if protocol == "grpc":
        block = {"endpoint": serving.settings["otlp"]["grpc"], "tls": {"insecure": True}}
        return {"otlp": block | PATIENT}
    return {"otlphttp": {"endpoint": f"http://{serving.settings['otlp']['http']}"} | PATIENT}


def send_runs(address: str, pause: float) -> None:
    """Hand runs to the Collector, which acknowledges into its queue."""
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(EXPORT.format("trace", "Trace"))
        for trace in range(1, RUNS + 1):
            call(run_request(trace), timeout=20, wait_for_ready=True)
            time.sleep(pause)


@pytest.mark.parametrize(("how", "protocol"), [("kill", "grpc"), ("stop", "http")])
def test_nothing_is_lost_and_nothing_doubled(tmp_path: Path, protocol: str, how: str) -> None:
    """However the server ends under it, the Collector's repeats and ours add up exactly."""
    ports = {name: f"127.0.0.1:{free_port()}" for name in ("grpc", "http")}
    serving = Serving(tmp_path / "d", {"otlp": ports}).start()
    try:
        with collecting(tmp_path, exporter_to(serving, protocol)) as address:
            load = threading.Thread(target=send_runs, args=(address, 0.02))
            load.start()
            for _ in range(LIVES):
                time.sleep(1.0)
                if how == "kill":
                    serving.kill()
                else:
                    assert serving.stop() == 0
                time.sleep(0.5)
                serving.start()
            load.join(120)
            wait_until(lambda: arrived(serving) == RUNS * CALLS, 90)
        (row,) = serving.totals()
        assert row["llm_calls"] == RUNS * CALLS
        assert row["input_tokens"] == CALLS * RUNS * (RUNS + 1) // 2
    finally:
        serving.stop()


def arrived(serving: Serving) -> int:
    """Model calls that can be queried now."""
    serving.settle()
    rows = serving.totals()
    return int(rows[0]["llm_calls"]) if rows else 0
