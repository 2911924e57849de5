"""whyflame's own metrics: the closed, documented list.

Every metric is declared once here, as `NAME = counter(...)`; `docs/metrics.md` lists the same
names and a test compares them.
"""

from __future__ import annotations

from whyflame.metric import (
    METRICS,
    counter,
    gauge,
    histogram,
    mark_process_dead,
    render,
    use_directory,
)

__all__ = ["METRICS", "mark_process_dead", "render", "use_directory"]

# --- receive --------------------------------------------------------------------------------------
RECEIVER_ACCEPTED_REQUESTS = counter(
    "receiver_accepted_requests_total",
    "OTLP requests acknowledged: durable in the journal.",
    "transport",
    "signal",
)
RECEIVER_ACCEPTED_ITEMS = counter(
    "receiver_accepted_items_total",
    "Spans, log records and metrics in acknowledged requests.",
    "transport",
    "signal",
)
RECEIVER_ACCEPTED_BYTES = counter(
    "receiver_accepted_bytes_total",
    "Bytes of acknowledged requests after inflating.",
    "transport",
    "signal",
)
RECEIVER_REFUSED_REQUESTS = counter(
    "receiver_refused_requests_total",
    "OTLP requests the sender was asked to repeat (back-pressure, disk full, stopping).",
    "transport",
    "signal",
    "reason",
)
RECEIVER_INVALID_REQUESTS = counter(
    "receiver_invalid_requests_total",
    "OTLP requests that can never be accepted (malformed, too large, unauthenticated, ...).",
    "transport",
    "signal",
    "reason",
)
RECEIVER_FAILED_REQUESTS = counter(
    "receiver_failed_requests_total",
    "OTLP requests answered as retryable because of a fault in whyflame itself.",
    "transport",
    "signal",
)
RECEIVER_REQUEST_SECONDS = histogram(
    "receiver_request_seconds",
    "From the whole request in memory to its acknowledgement.",
    "transport",
)
RECEIVER_INFLIGHT_BYTES = gauge("receiver_inflight_bytes", "Bytes of requests being handled now.")

# --- journal --------------------------------------------------------------------------------------
JOURNAL_SYNC_SECONDS = histogram(
    "journal_sync_seconds", "One group written and synced to disk (write + fdatasync)."
)
JOURNAL_GROUP_FRAMES = histogram(
    "journal_group_frames",
    "Requests made durable by one sync.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)
JOURNAL_WRITTEN_BYTES = counter("journal_written_bytes_total", "Bytes appended and synced.")
JOURNAL_QUEUED_BYTES = gauge("journal_queued_bytes", "Bytes waiting for their sync.")
JOURNAL_FAILURES = counter(
    "journal_failures_total",
    "Groups that could not be made durable (disk_full, io_error); their senders were told so.",
    "reason",
)
JOURNAL_PENDING_BYTES = gauge(
    "journal_pending_bytes", "Bytes journalled and not yet indexed, over all streams."
)
JOURNAL_LOST_FRAMES = counter(
    "journal_lost_frames_total",
    "Damaged records met while reading (corrupt) and unfinished, never acknowledged tails (torn).",
    "reason",
)
JOURNAL_LOST_BYTES = counter(
    "journal_lost_bytes_total", "Bytes of the journal that were skipped as damaged.", "reason"
)

# --- index ----------------------------------------------------------------------------------------
INDEXED_SPANS = counter("indexed_spans_total", "Spans and log events appended to the store.")
REPEATED_SPANS = counter("repeated_spans_total", "Spans that had arrived before, not stored again.")
SUPERSEDED_SPANS = counter(
    "superseded_spans_total", "Spans replaced by a richer arrival of the same span."
)
DROPPED_SPANS = counter("dropped_spans_total", "Spans not kept, by reason.", "reason")
DEAD_LETTERS = counter(
    "dead_letter_requests_total", "Acknowledged requests kept aside undecoded, by reason.", "reason"
)
DUBIOUS_VALUES = counter(
    "dubious_values_total", "Values of accepted spans stored as unknown, by reason.", "reason"
)
INDEX_COMMIT_SECONDS = histogram("index_commit_seconds", "One transaction of the indexer.")
INDEX_LAG_SECONDS = gauge(
    "index_lag_seconds", "Receipt to queryable, for the newest indexed request."
)

# --- settle and segment -----------------------------------------------------------------------------
SETTLED_TRACES = counter("settled_traces_total", "Traces settled; again for each generation.")
SETTLED_OPERATIONS = counter(
    "settled_operations_total", "Operations settled; again for each generation."
)
CLOCK_CORRECTIONS = counter(
    "clock_corrections_total", "Remote spans moved into their parent because of clock skew."
)
UNSETTLED_TRACES = gauge("unsettled_traces", "Traces that wait to be settled.")
SEGMENT_FAILURES = counter(
    "segment_failures_total", "Lanes whose marks were refused; the fall-back stands.", "segmenter"
)
STAGE_FAILURES = counter(
    "stage_failures_total", "Unexpected errors of a stage; it tries again.", "stage"
)
FORGOTTEN_TRACES = counter(
    "forgotten_traces_total", "Traces removed because of store.retention or store.max_bytes."
)
COVERAGE = gauge(
    "coverage",
    "What the totals of all tenants rest on, looked at after settling (operations, calls_without_usage, "
    "unpriced_calls, sessions, sessions_without_id, merged_views, not_counted, orphan_spans, "
    "bad_values, unknown_scopes).",
    "what",
)
STORE_BYTES = gauge("store_bytes", "Size of the database file and its log.")
DISK_FREE_BYTES = gauge("disk_free_bytes", "Room left where store and journal are.")


# --- export ---------------------------------------------------------------------------------------
EXPORT_OPERATIONS = counter(
    "export_operations_total", "Operations that went into payloads.", "exporter"
)
EXPORT_REPLACED = counter(
    "export_replaced_operations_total",
    "Operations not exported, since another view of the same call had been exported before.",
    "exporter",
)
EXPORT_PAYLOADS = counter(
    "export_payloads_total",
    "Answers by outcome (sent, split, rate_limited, paused, failed, dead).",
    "exporter",
    "outcome",
)
EXPORT_DEAD = counter(
    "export_dead_letters_total", "Payloads given up, by reason.", "exporter", "reason"
)
EXPORT_LATE = counter(
    "export_late_total",
    "Profiles too old for the backend, by what was done (drop, restamp, push, refused).",
    "exporter",
    "policy",
)
EXPORT_OVERFLOWED = counter(
    "export_overflowed_series_total",
    "Times a series lost labels because there were too many series.",
    "exporter",
)
EXPORT_SENT_BYTES = counter(
    "export_sent_bytes_total", "Bytes of delivered profiles before compression.", "exporter"
)
EXPORT_SEND_SECONDS = histogram("export_send_seconds", "One attempt to deliver.", "exporter")
EXPORT_WAITING = gauge("export_waiting_payloads", "Payloads not delivered yet.", "exporter")
EXPORT_WAITING_BYTES = gauge("export_waiting_bytes", "Their bytes before compression.", "exporter")
EXPORT_PAUSED = gauge(
    "export_paused", "1 while an exporter waits for a person (401, 403, 404, 405).", "exporter"
)
EXPORT_WINDOW_SECONDS = gauge("export_window_seconds", "Width of the windows made now.", "exporter")
EXPORT_DRIFT_OPERATIONS = gauge(
    "export_drift_operations", "Exported operations that are under another path now.", "exporter"
)
EXPORT_DRIFT_TOKENS = gauge("export_drift_tokens", "Tokens of these operations.", "exporter")
EXPORT_DUPLICATES = gauge(
    "exported_duplicates", "Exported operations that were found not to count later.", "exporter"
)
EXPORT_CHANGED_TOKENS = gauge(
    "export_changed_tokens",
    "Tokens by which exported operations differ from what was exported, up or down.",
    "exporter",
)
EXPORT_CHANGED_SECONDS = gauge(
    "export_changed_seconds",
    "Self time by which exported operations differ, as when late spans take it from their parent.",
    "exporter",
)
FORWARD_REQUESTS = counter(
    "forward_requests_total",
    "Received requests passed on, by outcome (sent, failed, rate_limited, paused, dead, dropped: "
    "no room in the spool); refused_records counts records of accepted requests.",
    "exporter",
    "signal",
    "outcome",
)
FORWARD_PAUSED = gauge(
    "forward_paused",
    "1 while a signal waits for a person (401, 403, 404, unknown service).",
    "exporter",
    "signal",
)
FORWARD_WAITING_BYTES = gauge(
    "forward_waiting_bytes", "Requests in the spool, not passed on yet.", "exporter", "signal"
)
