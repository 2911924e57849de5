"""Metrics of all processes of one server add up."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import multiprocessing, pathlib, sys
from whyflame import telemetry

def work(amount):
    telemetry.RECEIVER_ACCEPTED_ITEMS.add(amount, "grpc", "traces")
    telemetry.RECEIVER_INFLIGHT_BYTES.add(amount)
    telemetry.JOURNAL_SYNC_SECONDS.observe(0.002)

if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1])
    telemetry.use_directory(directory)
    context = multiprocessing.get_context("spawn")
    for amount in (3, 4):
        child = context.Process(target=work, args=(amount,))
        child.start()
        child.join()
        telemetry.mark_process_dead(child.pid, directory)
    work(5)
    print(telemetry.render(directory)[0].decode())
"""


def test_counters_add_up_and_gauges_count_the_living(tmp_path: Path) -> None:
    """Counts of ended children stay, their gauges go; files of an earlier run are forgotten."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "counter_1.db").write_bytes(b"")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "metrics")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = done.stdout.splitlines()
    name = "whyflame_receiver_accepted_items_total"
    assert f'{name}{{signal="traces",transport="grpc"}} 12.0' in lines
    assert "whyflame_receiver_inflight_bytes 5.0" in lines
    assert "whyflame_journal_sync_seconds_count 3.0" in lines
