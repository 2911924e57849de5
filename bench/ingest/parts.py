"""CPU of every part of the path, in one process: `python bench/ingest/parts.py`.

Prints a table of microseconds a span for requests without content and with 3 KB of it (features),
best of several rounds; every round has requests with new ids. The bare protobuf parse stands beside
them as a yardstick: ratios to it hold on a busy machine, the figures themselves do not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from workload import Workload

from whyflame.app.build import build_pipeline
from whyflame.app.collector import calm_collector
from whyflame.app.segments import StoredSegments
from whyflame.app.worker import ALLOCATIONS
from whyflame.config import Config
from whyflame.index.indexer import Read
from whyflame.journal import Signal
from whyflame.segment.registry import load_segmenter
from whyflame.settle.rules import build_settle
from whyflame.store.passed import pack
from whyflame.store.past import StorePast

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.app.build import Pipeline
    from whyflame.model import Operation
    from whyflame.store.span_rows import SpanRows
    from whyflame.store.unsettled import Group

    Taken = dict[int, tuple[int, int]]

REQUESTS = 8
RECEIVED_NS = 1_790_000_000_000_000_000
SETTLE = build_settle(Config())


class Clock:
    """Lowest CPU time a span of each part."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}

    def run(self, part: str, spans: int, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = work()
        taken = (time.process_time() - began) / spans * 1e6
        self.best[part] = min(taken, self.best.get(part, taken))
        return result


def measure(workload: Workload, rounds: int) -> dict[str, float]:
    """Every part over the same requests, as the store process runs them."""
    clock, config = Clock(), Config()
    with tempfile.TemporaryDirectory() as directory:
        pipeline = build_pipeline(Path(directory), config)
        segment = StoredSegments(StorePast(pipeline.store), load_segmenter(config.segment))
        for number in range(rounds):
            first = number * len(workload.templates)
            payloads = [workload.request(first + at, RECEIVED_NS) for at in range(REQUESTS)]
            _round(clock, pipeline, segment, payloads, workload.spans)
        stored = rounds * REQUESTS * workload.spans
        clock.run("checkpoint", stored, pipeline.store.checkpoint)
        size = pipeline.store.database_bytes() / stored
        pipeline.store.close()
    return clock.best | {"bytes a span": size}


def _round(
    clock: Clock, pipeline: Pipeline, segment: StoredSegments, payloads: list[bytes], size: int
) -> None:
    spans = len(payloads) * size

    def index() -> Read:
        read = Read()
        for payload in payloads:
            pipeline.reader.read(
                Signal.TRACES, payload, tenant="", received_ns=RECEIVED_NS, into=read
            )
        return read

    parse = ExportTraceServiceRequest.FromString
    clock.run("parse alone", spans, lambda: [parse(payload) for payload in payloads])
    read = clock.run("read, bounds, features", spans, index)
    result = clock.run("append, commit", spans, lambda: pipeline.writer.append(read.spans, {}, {}))
    waiting = pipeline.unsettled
    waiting.add(result.traces)
    while taken := waiting.take_ready(2 * RECEIVED_NS, idle_ns=0, hold_ns=0):
        _settle(clock, pipeline, segment, taken, spans)


def _settle(
    clock: Clock, pipeline: Pipeline, segment: StoredSegments, taken: Taken, spans: int
) -> None:
    """A pass, in parts of the store process and of the settle worker."""
    waiting = pipeline.unsettled

    def read() -> tuple[Group, SpanRows]:
        group = waiting.find(taken)
        return group, waiting.rows(group)

    def work() -> list[Operation]:
        group.take(rows)
        return SETTLE(group.spans, {})

    group, rows = clock.run("settle: find, read", spans, read)
    calm_collector(ALLOCATIONS)
    operations = clock.run("settle: spans, rules", spans, work)
    marks = clock.run("settle: segment", spans, lambda: segment(operations))
    passed = clock.run("settle: columns", spans, lambda: pack(group, operations, marks))
    calm_collector()
    clock.run("settle: write", spans, lambda: pipeline.settled.write_passed(passed, RECEIVED_NS))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--spans", type=int, default=512, help="spans a request")
    options = parser.parse_args()
    calm_collector()  # as the store process does
    columns = [
        measure(Workload(REQUESTS, options.spans, content=content), options.rounds)
        for content in (False, True)
    ]
    print("| part | content off | features |\n|---|---|---|")
    for part in columns[0]:
        print(f"| {part} | {columns[0][part]:.1f} | {columns[1][part]:.1f} |")


if __name__ == "__main__":
    main()
