"""Metrics are a closed, documented list."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from whyflame import telemetry

if TYPE_CHECKING:
    from pathlib import Path


def test_every_metric_is_documented(root: Path) -> None:
    """docs/metrics.md names exactly the metrics that exist."""
    text = (root / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(whyflame_[a-z_]+)`", text)) == set(telemetry.METRICS)


def test_names_follow_prometheus() -> None:
    """Counters end in _total; a unit stands in the name where there is one."""
    for name, metric in telemetry.METRICS.items():
        assert re.fullmatch(r"whyflame_[a-z][a-z0-9_]*", name)
        assert name.endswith("_total") == (metric.kind == "counter")


def test_first_recordings_from_many_threads_count_once_each() -> None:
    """The object behind a metric is made once, whoever records first."""
    metric = telemetry.JOURNAL_WRITTEN_BYTES
    barrier = threading.Barrier(8)

    def record() -> None:
        barrier.wait()
        metric.add(1)

    before = _value(metric.name)
    threads = [threading.Thread(target=record) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _value(metric.name) - before == 8


def _value(name: str) -> float:
    text = telemetry.render()[0].decode()
    found = re.search(rf"^{name} ([0-9.e+]+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0
