"""How the store's costs grow with its size: `python bench/ingest/growth.py 1000000`.

Appends generated spans (without content) until the store holds as many as asked, and prints at
every power of ten: CPU of appending and of the checkpoint, CPU of reading the newest thousand
traces back for settling, of looking up one old trace, bytes a span, memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workload import Workload

from whyflame.dialects import DialectSettings, Reader
from whyflame.store.duck import Store
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import GROUP_TRACES, Unsettled

if TYPE_CHECKING:
    from whyflame.model import Span

TEMPLATES = 16
MINUTE_NS = 60 * 10**9
PAGE_MIB = 4096 / (1 << 20)


class Feed:
    """The same spans again and again, as other traces of other sessions at a later time."""

    def __init__(self) -> None:
        workload, reader = Workload(TEMPLATES, content=False), Reader(DialectSettings())
        self.spans = [
            span
            for number in range(TEMPLATES)
            for span in reader.read_traces(
                workload.request(number, time.time_ns()), tenant="", received_ns=1
            )
        ]
        self._names = [(span.trace_id, span.session or "", span.response_id) for span in self.spans]

    def turn(self, number: int) -> list[Span]:
        """All spans under new names."""
        salt = number.to_bytes(4, "big")
        for span, (trace_id, session, response_id) in zip(self.spans, self._names, strict=True):
            span.trace_id = salt + trace_id[4:]
            span.session = span.conversation = f"{session}-{number}"
            span.response_id = response_id and f"{response_id}-{number}"
            if span.start_ns is not None and span.end_ns is not None:
                span.start_ns += MINUTE_NS
                span.end_ns += MINUTE_NS
        return self.spans


def cpu_ms(work: object) -> float:
    """CPU of a call, best of three."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()  # type: ignore[operator]
        taken.append(time.process_time() - began)
    return min(taken) * 1e3


def look_up_ms(store: Store, span: Span) -> float:
    """CPU of a span sent once more to a writer without a window, which has to look its trace up."""
    taken = []
    for _ in range(3):
        writer = SpanWriter(store)
        began = time.process_time()
        writer.append([span], {}, {})
        taken.append(time.process_time() - began)
    return min(taken) * 1e3


def report(store: Store, oldest: Span, held: int, append_us: float) -> None:
    """One row of the table."""
    began = time.process_time()
    store.checkpoint()
    checkpoint_ms = (time.process_time() - began) * 1e3
    unsettled = Unsettled(store, gap_ns=4 * 3600 * 10**9)
    row = store.cursor().execute("SELECT max(trace_key) FROM traces").fetchone()
    newest = range(max(0, (row[0] if row else 0) - GROUP_TRACES), row[0] if row else 0)
    group = unsettled.load(newest)
    load_us = cpu_ms(lambda: unsettled.load(newest)) * 1e3 / len(group.spans)
    look_ms = look_up_ms(store, oldest)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_MIB
    print(
        f"| {held:,} | {append_us:.1f} | {checkpoint_ms:.0f} | {load_us:.1f} | {look_ms:.1f} "
        f"| {store.database_bytes() / held:.0f} | {resident:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("spans", type=int, nargs="?", default=1_000_000)
    options = parser.parse_args()
    print(
        "| spans | append us a span | checkpoint ms | load us a span | old trace ms "
        "| bytes a span | RSS MiB |\n|---|---|---|---|---|---|---|"
    )
    feed = Feed()
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory) / "growth.duckdb", memory_limit=512 << 20)
        writer = SpanWriter(store)
        held = number = 0
        oldest: Span | None = None
        stop = 10_000
        while held < options.spans:
            spans = feed.turn(number)
            began = time.process_time()
            held += writer.append(spans, {}, {}).stored
            taken = (time.process_time() - began) / len(spans) * 1e6
            number += 1
            oldest = oldest or replace(spans[0])
            if held >= stop:
                report(store, oldest, held, taken)
                stop *= 10
        store.close()


if __name__ == "__main__":
    main()
