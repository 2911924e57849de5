"""One metric: its declaration, how it is recorded, and how all are shown to Prometheus.

A declaration costs nothing: the prometheus_client object behind it is made at the first recording,
so the supervisor can still choose the multiprocess directory (`use_directory`) after all metrics
were declared and before any process records something.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "METRICS", "Metric", "counter", "gauge", "histogram", "mark_process_dead", "render",
    "use_directory",
]  # fmt: skip

Kind = Literal["counter", "gauge", "histogram"]

SECONDS_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its declaration, and the handle through which stages record it.

    Attributes:
        name: Full Prometheus name without the suffixes the client adds.
        kind: Counter, gauge or histogram.
        help: One sentence for `/metrics` and the documentation.
        labels: Label names; values must come from closed sets.
        buckets: Upper bounds of a histogram.
        across: How a gauge combines over processes (prometheus_client's multiprocess mode).
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = field(default=SECONDS_BUCKETS, repr=False)
    across: Literal["livesum", "livemax", "livemostrecent"] = "livesum"

    def add(self, amount: float = 1, /, *label_values: str) -> None:
        """Count `amount` more (counters, gauges)."""
        _live(self, label_values).inc(amount)

    def set(self, value: float, /, *label_values: str) -> None:
        """Set a gauge."""
        _live(self, label_values).set(value)

    def observe(self, value: float, /, *label_values: str) -> None:
        """Put one value into a histogram."""
        _live(self, label_values).observe(value)


_families: dict[str, Any] = {}
_making = threading.Lock()

METRICS: dict[str, Metric] = {}
"""Every metric by name, in order of declaration."""


def _declare(metric: Metric) -> Metric:
    if metric.name in METRICS:
        raise ValueError(f"metric {metric.name} is declared twice")
    METRICS[metric.name] = metric
    return metric


def counter(name: str, help_text: str, *labels: str) -> Metric:
    """Declare what only grows."""
    return _declare(Metric(f"whyflame_{name}", "counter", help_text, labels))


def gauge(name: str, help_text: str, *labels: str) -> Metric:
    """Declare what goes up and down."""
    return _declare(Metric(f"whyflame_{name}", "gauge", help_text, labels))


def histogram(
    name: str, help_text: str, *labels: str, buckets: tuple[float, ...] = SECONDS_BUCKETS
) -> Metric:
    """Declare what is spread over buckets, which end at these bounds."""
    return _declare(Metric(f"whyflame_{name}", "histogram", help_text, labels, buckets))


def use_directory(directory: Path) -> None:
    """Share metrics between processes through files in `directory`.

    Call it in the supervisor before the first recording; child processes inherit it. Files of an
    earlier run are removed, since counters start again with the process group.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for old in sorted(directory.glob("*.db")):
        old.unlink(missing_ok=True)
    # prometheus_client reads this variable, and nothing else, when its value type is chosen.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)  # noqa: TID251


def mark_process_dead(pid: int, directory: Path) -> None:
    """Forget the live gauges of a child that ended."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(pid, str(directory))  # type: ignore[no-untyped-call]


def render(directory: Path | None = None) -> tuple[bytes, str]:
    """The Prometheus text exposition and its content type.

    Args:
        directory: The directory given to `use_directory`; None for this process alone.
    """
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    if directory is None:
        return generate_latest(_registry()), CONTENT_TYPE_LATEST
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]
    return generate_latest(registry), CONTENT_TYPE_LATEST


@cache
def _registry() -> Any:
    from prometheus_client import CollectorRegistry

    return CollectorRegistry(auto_describe=True)


def _family(name: str) -> Any:
    """The prometheus_client object of one metric; made once a process."""
    made = _families.get(name)
    if made is None:
        with _making:  # prometheus_client refuses a second object of the same name
            made = _families.get(name)
            if made is None:
                made = _families[name] = _make(METRICS[name])
    return made


def _make(metric: Metric) -> Any:
    from prometheus_client import Counter, Gauge, Histogram

    shared: dict[str, Any] = {"labelnames": metric.labels, "registry": _registry()}
    if metric.kind == "counter":
        return Counter(metric.name, metric.help, **shared)
    if metric.kind == "gauge":
        return Gauge(metric.name, metric.help, multiprocess_mode=metric.across, **shared)
    return Histogram(metric.name, metric.help, buckets=metric.buckets, **shared)


def _live(metric: Metric, label_values: tuple[str, ...]) -> Any:
    family = _family(metric.name)
    return family.labels(*label_values) if label_values else family
