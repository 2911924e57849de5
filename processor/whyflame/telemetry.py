"""whyflame's own metrics: the closed, documented list and how to record them.

Every metric is declared once here, as `NAME = _counter(...)`; `docs/metrics.md` lists the same
names and a test compares them. A declaration costs nothing: the prometheus_client object behind it
is made at the first recording, so the supervisor can still choose the multiprocess directory
(`use_directory`) after this module was imported and before any process records something.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["METRICS", "Metric", "mark_process_dead", "render", "use_directory"]

Kind = Literal["counter", "gauge", "histogram"]

SECONDS_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BYTES_BUCKETS = tuple(float(1 << power) for power in range(8, 28, 2))


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


def _counter(name: str, help_text: str, *labels: str) -> Metric:
    return _declare(Metric(f"whyflame_{name}", "counter", help_text, labels))


def _gauge(name: str, help_text: str, *labels: str) -> Metric:
    return _declare(Metric(f"whyflame_{name}", "gauge", help_text, labels))


def _histogram(
    name: str, help_text: str, *labels: str, buckets: tuple[float, ...] = SECONDS_BUCKETS
) -> Metric:
    return _declare(Metric(f"whyflame_{name}", "histogram", help_text, labels, buckets))


# --- receive --------------------------------------------------------------------------------------
RECEIVER_ACCEPTED_REQUESTS = _counter(
    "receiver_accepted_requests_total",
    "OTLP requests acknowledged: durable in the journal.",
    "transport",
    "signal",
)
RECEIVER_ACCEPTED_ITEMS = _counter(
    "receiver_accepted_items_total",
    "Spans, log records and metrics in acknowledged requests.",
    "transport",
    "signal",
)
RECEIVER_ACCEPTED_BYTES = _counter(
    "receiver_accepted_bytes_total",
    "Bytes of acknowledged requests after inflating.",
    "transport",
    "signal",
)
RECEIVER_REFUSED_REQUESTS = _counter(
    "receiver_refused_requests_total",
    "OTLP requests the sender was asked to repeat (back-pressure, disk full, stopping).",
    "transport",
    "signal",
    "reason",
)
RECEIVER_INVALID_REQUESTS = _counter(
    "receiver_invalid_requests_total",
    "OTLP requests that can never be accepted (malformed, too large, unauthenticated, ...).",
    "transport",
    "signal",
    "reason",
)
RECEIVER_FAILED_REQUESTS = _counter(
    "receiver_failed_requests_total",
    "OTLP requests answered as retryable because of a fault in whyflame itself.",
    "transport",
    "signal",
)
RECEIVER_REQUEST_SECONDS = _histogram(
    "receiver_request_seconds",
    "From the whole request in memory to its acknowledgement.",
    "transport",
)
RECEIVER_INFLIGHT_BYTES = _gauge("receiver_inflight_bytes", "Bytes of requests being handled now.")

# --- journal --------------------------------------------------------------------------------------
JOURNAL_SYNC_SECONDS = _histogram(
    "journal_sync_seconds", "One group written and synced to disk (write + fdatasync)."
)
JOURNAL_GROUP_FRAMES = _histogram(
    "journal_group_frames",
    "Requests made durable by one sync.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)
JOURNAL_WRITTEN_BYTES = _counter("journal_written_bytes_total", "Bytes appended and synced.")
JOURNAL_QUEUED_BYTES = _gauge("journal_queued_bytes", "Bytes waiting for their sync.")
JOURNAL_FAILURES = _counter(
    "journal_failures_total",
    "Groups that could not be made durable (disk_full, io_error); their senders were told so.",
    "reason",
)
JOURNAL_PENDING_BYTES = _gauge(
    "journal_pending_bytes", "Bytes journalled and not yet indexed, over all streams."
)
JOURNAL_LOST_FRAMES = _counter(
    "journal_lost_frames_total",
    "Damaged records met while reading (corrupt) and unfinished, never acknowledged tails (torn).",
    "reason",
)
JOURNAL_LOST_BYTES = _counter(
    "journal_lost_bytes_total", "Bytes of the journal that were skipped as damaged.", "reason"
)

# --- index ----------------------------------------------------------------------------------------
INDEXED_SPANS = _counter("indexed_spans_total", "Spans and log events appended to the store.")
REPEATED_SPANS = _counter(
    "repeated_spans_total", "Spans that had arrived before, not stored again."
)
SUPERSEDED_SPANS = _counter(
    "superseded_spans_total", "Spans replaced by a richer arrival of the same span."
)
DROPPED_SPANS = _counter("dropped_spans_total", "Spans not kept, by reason.", "reason")
DEAD_LETTERS = _counter(
    "dead_letter_requests_total", "Acknowledged requests kept aside undecoded, by reason.", "reason"
)
DUBIOUS_VALUES = _counter(
    "dubious_values_total", "Values of accepted spans stored as unknown, by reason.", "reason"
)
INDEX_COMMIT_SECONDS = _histogram("index_commit_seconds", "One transaction of the indexer.")
INDEX_LAG_SECONDS = _gauge(
    "index_lag_seconds", "Receipt to queryable, for the newest indexed request."
)

# --- settle and segment -----------------------------------------------------------------------------
SETTLED_TRACES = _counter("settled_traces_total", "Traces settled; again for each generation.")
SETTLED_OPERATIONS = _counter(
    "settled_operations_total", "Operations settled; again for each generation."
)
CLOCK_CORRECTIONS = _counter(
    "clock_corrections_total", "Remote spans moved into their parent because of clock skew."
)
UNSETTLED_TRACES = _gauge("unsettled_traces", "Traces that wait to be settled.")
SEGMENT_FAILURES = _counter(
    "segment_failures_total", "Lanes whose marks were refused; the fall-back stands.", "segmenter"
)
STAGE_FAILURES = _counter(
    "stage_failures_total", "Unexpected errors of a stage; it tries again.", "stage"
)
FORGOTTEN_TRACES = _counter(
    "forgotten_traces_total", "Traces removed because of store.retention or store.max_bytes."
)
COVERAGE = _gauge(
    "coverage",
    "What the totals of all tenants rest on, looked at after settling (operations, calls_without_usage, "
    "unpriced_calls, sessions, sessions_without_id, merged_views, not_counted, orphan_spans, "
    "bad_values, unknown_scopes).",
    "what",
)
STORE_BYTES = _gauge("store_bytes", "Size of the database file and its log.")


# --- export ---------------------------------------------------------------------------------------
EXPORT_OPERATIONS = _counter(
    "export_operations_total", "Operations that went into payloads.", "exporter"
)
EXPORT_REPLACED = _counter(
    "export_replaced_operations_total",
    "Operations not exported, since another view of the same call had been exported before.",
    "exporter",
)
EXPORT_PAYLOADS = _counter(
    "export_payloads_total",
    "Answers by outcome (sent, split, rate_limited, paused, failed, dead).",
    "exporter",
    "outcome",
)
EXPORT_DEAD = _counter(
    "export_dead_letters_total", "Payloads given up, by reason.", "exporter", "reason"
)
EXPORT_LATE = _counter(
    "export_late_total",
    "Profiles too old for the backend, by what was done (drop, restamp, push, refused).",
    "exporter",
    "policy",
)
EXPORT_OVERFLOWED = _counter(
    "export_overflowed_series_total",
    "Times a series lost labels because there were too many series.",
    "exporter",
)
EXPORT_SENT_BYTES = _counter(
    "export_sent_bytes_total", "Bytes of delivered profiles before compression.", "exporter"
)
EXPORT_SEND_SECONDS = _histogram("export_send_seconds", "One attempt to deliver.", "exporter")
EXPORT_WAITING = _gauge("export_waiting_payloads", "Payloads not delivered yet.", "exporter")
EXPORT_WAITING_BYTES = _gauge("export_waiting_bytes", "Their bytes before compression.", "exporter")
EXPORT_PAUSED = _gauge(
    "export_paused", "1 while an exporter waits for a person (401, 403, 404, 405).", "exporter"
)
EXPORT_WINDOW_SECONDS = _gauge(
    "export_window_seconds", "Width of the windows made now.", "exporter"
)
EXPORT_DRIFT_OPERATIONS = _gauge(
    "export_drift_operations", "Exported operations that are under another path now.", "exporter"
)
EXPORT_DRIFT_TOKENS = _gauge("export_drift_tokens", "Tokens of these operations.", "exporter")
EXPORT_DUPLICATES = _gauge(
    "exported_duplicates", "Exported operations that were found not to count later.", "exporter"
)
EXPORT_CHANGED_TOKENS = _gauge(
    "export_changed_tokens",
    "Tokens by which exported operations differ from what was exported, up or down.",
    "exporter",
)
EXPORT_CHANGED_SECONDS = _gauge(
    "export_changed_seconds",
    "Self time by which exported operations differ, as when late spans take it from their parent.",
    "exporter",
)
FORWARD_REQUESTS = _counter(
    "forward_requests_total",
    "Received requests passed on, by outcome (sent, failed, rate_limited, paused, dead, dropped: "
    "no room in the spool); refused_records counts records of accepted requests.",
    "exporter",
    "signal",
    "outcome",
)
FORWARD_PAUSED = _gauge(
    "forward_paused",
    "1 while a signal waits for a person (401, 403, 404, unknown service).",
    "exporter",
    "signal",
)
FORWARD_WAITING_BYTES = _gauge(
    "forward_waiting_bytes", "Requests in the spool, not passed on yet.", "exporter", "signal"
)


# --- exposition -----------------------------------------------------------------------------------
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
