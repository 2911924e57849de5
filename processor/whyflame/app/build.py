"""Builds the stages and hands each its successor: journal, index, settle, segment, export."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.app.opening import make_data_dir, open_store
from whyflame.app.own_calls import OwnCalls
from whyflame.app.segments import StoredSegments
from whyflame.app.worker import SettleWorker, build_worker
from whyflame.dialects import Reader, dialect_settings
from whyflame.export import ExportJob, Forwarding, build_exporters, build_forwarders
from whyflame.index.dead_letters import DeadLetters
from whyflame.index.indexer import Indexer, SpanReader
from whyflame.journal import JournalTail, Position
from whyflame.segment.registry import choose_segmenter
from whyflame.settle.job import SettleJob
from whyflame.settle.rules import build_settle
from whyflame.store.past import StorePast
from whyflame.store.retention import Retention
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whyflame.config import Config
    from whyflame.export import BoundForwarder
    from whyflame.journal import Signal
    from whyflame.store.duck import Store

__all__ = ["FORWARD", "JOURNAL", "Pipeline", "build_pipeline", "now_ns"]

SECOND_NS = 1_000_000_000
JOURNAL = "journal"
DEAD_LETTERS = "dead-letters"
FORWARD = "forward"


def now_ns() -> int:
    """The one wall clock that is handed to every stage."""
    return time.time_ns()


@dataclass(slots=True)
class Pipeline:
    """The stages behind the journal, wired; each is used by one thread.

    Attributes:
        reader: Requests to spans. writer: Spans to the store. indexer: Journal to `writer`.
        unsettled, settled: Queue and writer of the settle job. settle_job: Settle and segment.
        worker: Takes large passes of the settle job; None where all run in this process.
        own_calls: The segmenter's own model calls to the journal.
        retention: Removes what is past its age or size.
        export_job: Profiles to the configured exporters; None when none is configured.
        forwarding: Received requests to other endpoints; None when none is configured.
    """

    store: Store
    reader: SpanReader
    writer: SpanWriter
    indexer: Indexer
    unsettled: Unsettled
    settled: SettledWriter
    settle_job: SettleJob
    worker: SettleWorker | None
    own_calls: OwnCalls
    retention: Retention
    export_job: ExportJob | None
    forwarding: Forwarding | None

    def close(self) -> None:
        """Close what holds files; the threads that used the stages have ended."""
        if self.forwarding is not None:
            self.forwarding.close()
        if self.worker is not None:
            self.worker.close()
        self.own_calls.close()
        self.store.close()


def build_pipeline(
    data_dir: Path, config: Config, *, exports: bool = True, worker: bool = False
) -> Pipeline:
    """Open the store and wire every stage to the next.

    Args:
        data_dir: Holds store, journal and dead letters.
        config: The whole configuration.
        exports: False for commands that only fill or change the store.
        worker: Large settle passes may run in another process.

    Raises:
        ConfigError: A stage cannot be built as configured.
        StoreError: The directory or the store cannot be made or opened.
    """
    make_data_dir(data_dir)
    # Whatever may be wrong in the configuration is found before the store is opened.
    chosen, settle_spans = choose_segmenter(config.segment), build_settle(config)
    store = open_store(data_dir, config)
    reader, writer = _build_reader(data_dir, config), SpanWriter(store)
    unsettled = Unsettled(store, gap_ns=int(config.session.gap * SECOND_NS))
    settled, past = SettledWriter(store), StorePast(store)
    own_calls = OwnCalls(data_dir / JOURNAL, now_ns)
    segment = StoredSegments(past, chosen.segmenter, own_calls.put, setup=chosen.setup)
    settle_worker = build_worker(config, chosen.segmenter, past) if worker else None
    job = SettleJob(unsettled, settled, settle_spans, segment, config.settle, now_ns, settle_worker)
    export_job = build_exporters_job(store, config) if exports else None
    forwarding = build_forwarding(data_dir, config)
    indexer = Indexer(
        _build_tail(data_dir, config, writer, spares_kept=not exports), reader, writer, unsettled.add, now_ns,
        None if forwarding is None else forwarding.put,
    )  # fmt: skip
    return Pipeline(
        store, reader, writer, indexer, unsettled, settled, job, settle_worker, own_calls,
        _build_retention(store, config), export_job, forwarding,
    )  # fmt: skip


def _build_tail(
    data_dir: Path, config: Config, writer: SpanWriter, *, spares_kept: bool
) -> JournalTail:
    """The journal from where it is not stored yet."""
    return JournalTail(
        data_dir / JOURNAL,
        {name: Position(*place) for name, place in writer.positions().items()},
        retention_seconds=config.journal.retention,
        max_kept_bytes=config.journal.max_bytes,
        spares_kept=spares_kept,
    )


def _build_retention(store: Store, config: Config) -> Retention:
    age_ns = int(config.store.retention * SECOND_NS)
    return Retention(store, max_age_ns=age_ns, max_bytes=config.store.max_bytes)


def _build_reader(data_dir: Path, config: Config) -> SpanReader:
    """Requests to spans, with what the configuration says of fields and content."""
    settings = dialect_settings(
        config.fields,
        config.settle.outcome_attributes,
        max_attributes=config.index.max_attributes,
    )
    dead_letters = DeadLetters(data_dir / DEAD_LETTERS)
    return SpanReader(Reader(settings), config.content, dead_letters, config.index.max_text)


def build_exporters_job(store: Store, config: Config) -> ExportJob | None:
    """The export stage with every configured exporter; None when none is configured."""
    exporters = build_exporters(config)
    return ExportJob(store, exporters, now_ns) if exporters else None


def build_forwarding(data_dir: Path, config: Config) -> Forwarding | None:
    """The forwarders with their spools and dead letters; None when none is configured."""
    bound = build_forwarders(config)
    if not bound:
        return None
    folder = data_dir / FORWARD

    def keep_for(item: BoundForwarder) -> Callable[[Signal, bytes, str, str], object]:
        letters = folder / item.name / DEAD_LETTERS
        return DeadLetters(letters, max_bytes=item.settings.max_dead_bytes).keep

    return Forwarding(folder, bound, keep_for, now_ns)
