"""Commands on a store that no server is using: the same stages, run once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.app.build import JOURNAL, Pipeline, build_pipeline, now_ns
from whyflame.app.segments import StoredSegments
from whyflame.errors import NothingMatched
from whyflame.index.indexer import READ_BYTES, Read
from whyflame.journal import JournalReader, Signal
from whyflame.journal.segments import list_streams
from whyflame.segment.registry import choose_segmenter
from whyflame.segment.rules import Coverage
from whyflame.store.past import StorePast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from whyflame.config import Config
    from whyflame.journal import Frame
    from whyflame.settle.job import SettleJob

__all__ = ["Imported", "import_captures", "reindex", "segment_in", "segment_now"]

BATCH_SPANS = 20_000


@dataclass(slots=True)
class Imported:
    """What an import did.

    Attributes:
        requests: Read.
        stored: Spans that are new. repeated: Spans that had come before.
        dropped: Spans of traces without agent work, which are not kept.
    """

    requests: int = 0
    stored: int = 0
    repeated: int = 0
    dropped: int = 0


def import_captures(
    data_dir: Path, config: Config, captures: Iterable[tuple[str, bytes]], tenant: str = ""
) -> Imported:
    """Read OTLP requests into the store and settle everything.

    Args:
        data_dir: Made when absent. config: The whole configuration.
        captures: (signal, protobuf bytes) of each request. tenant: Whose they are.
    """
    pipeline = build_pipeline(data_dir, config, exports=False)
    done = Imported()
    try:
        # What waits here is none of the import's.
        pipeline.indexer.drain()
        pipeline.settle_job.tick(everything=True)
        read = Read()
        for signal, body in captures:
            pipeline.reader.read(
                Signal[signal.upper()], body, tenant=tenant, received_ns=now_ns(), into=read
            )
            done.requests += 1
            if len(read.spans) >= BATCH_SPANS:
                _store(pipeline, read, done)
                read = Read()
        _store(pipeline, read, done)
        settled = pipeline.settle_job.tick(everything=True)
        done.stored = max(0, done.stored - settled.dropped - settled.dropped_again)
        done.repeated += settled.dropped_again
        done.dropped = settled.dropped
        _take_in_own_calls(pipeline)
    finally:
        pipeline.close()
    return done


def _store(pipeline: Pipeline, read: Read, done: Imported) -> None:
    result = pipeline.writer.append(read.spans, {}, read.counters)
    pipeline.unsettled.add(result.traces)
    done.stored += result.stored
    done.repeated += result.repeated


def reindex(data_dir: Path, config: Config) -> dict[str, int]:
    """Read the kept journal again by today's rules and settle what they change.

    Args:
        data_dir: Of a store that is not in use. config: The whole configuration.

    Returns:
        Counts of `requests` read, spans `renewed` and spans `added` that the store did not have.
    """
    pipeline = build_pipeline(data_dir, config, exports=False)
    done = {"requests": 0, "renewed": 0, "added": 0}
    try:
        pipeline.indexer.drain()
        for frames in _kept_frames(data_dir / JOURNAL):
            read = Read()
            for frame in frames:
                pipeline.reader.read(
                    frame.signal, frame.payload, tenant=frame.tenant,
                    received_ns=frame.received_ns, into=read,
                )  # fmt: skip
            result = pipeline.writer.renew(read.spans)
            pipeline.unsettled.add(result.traces)
            done["requests"] += len(frames)
            done["renewed"] += result.superseded
            done["added"] += result.stored - result.superseded
        pipeline.settle_job.tick(everything=True)
        _take_in_own_calls(pipeline)
    finally:
        pipeline.close()
    return done


def _take_in_own_calls(pipeline: Pipeline) -> None:
    """What the segmenter asked a model went to the journal: store and settle that as well."""
    if pipeline.indexer.drain():
        pipeline.settle_job.tick(everything=True)


def _kept_frames(journal_dir: Path) -> Iterator[list[Frame]]:
    """Everything that lies in the journal, in pieces."""
    for stream in list_streams(journal_dir):
        reader = JournalReader(journal_dir / stream)
        while frames := reader.read(READ_BYTES):
            yield frames
        reader.close()


def segment_now(
    data_dir: Path, config: Config, session: str | None, segmenter: str | None, tenant: str = ""
) -> dict[str, Any]:
    """`whyflame segment` on a store that is not in use."""
    pipeline = build_pipeline(data_dir, config, exports=False)
    try:
        pipeline.indexer.drain()
        done = segment_in(pipeline, config, session, segmenter, tenant)
        _take_in_own_calls(pipeline)
        return done
    finally:
        pipeline.close()


def segment_in(
    pipeline: Pipeline,
    config: Config,
    session: str | None,
    segmenter: str | None,
    tenant: str = "",
) -> dict[str, Any]:
    """Settle all that waits; settle again what was asked for by session or segmenter.

    Args:
        pipeline: The stages. config: The whole configuration.
        session: Only this session is done again.
        segmenter: Instead of the configured one, for what is done again.
        tenant: Whose sessions are done again; what waits is settled for all.

    Returns:
        Counts of `traces` and `operations`; of the named segmenter also `rules`, what rules matched
        and missed, or `model`, how many lanes a model marked and why others were left to `auto`.

    Raises:
        NothingMatched: No such session. ConfigError: No such segmenter.
    """
    done = pipeline.settle_job.tick(everything=True)
    if session is None and segmenter is None:
        return {"traces": done.traces, "operations": done.operations}
    coverage = Coverage()
    job, outcomes = _job_with(pipeline, config, segmenter, coverage)
    traces = operations = 0
    keys = pipeline.unsettled.traces_of(session, tenant)
    if not keys:
        raise NothingMatched(f"no session {session!r}; `whyflame sessions` lists them")
    for group in pipeline.unsettled.groups(keys):
        operations += job.settle_group(group, now_ns())
        traces += len(group.trace_keys)
    done_now: dict[str, Any] = {"traces": traces, "operations": operations}
    if coverage.is_used:
        done_now["rules"] = coverage.report()
    if outcomes:
        done_now["model"] = dict(outcomes)
    return done_now


def _job_with(
    pipeline: Pipeline, config: Config, segmenter: str | None, coverage: Coverage
) -> tuple[SettleJob, Mapping[str, int]]:
    """The settle job, with the segmenter that was named instead of the configured one.

    Beside it what that segmenter counts of its lanes while the job runs, if it does.
    """
    if segmenter is None:
        return pipeline.settle_job, {}
    chosen = choose_segmenter(config.segment, segmenter)
    past, spent = StorePast(pipeline.store), pipeline.own_calls.put
    job = pipeline.settle_job.with_segment(
        StoredSegments(past, chosen.segmenter, spent, coverage, setup=chosen.setup)
    )
    return job, getattr(chosen.segmenter, "outcomes", {})
