"""A store with settled operations in it, and a clock that only tests move."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from tests.made import write_settled

from whyflame.export import BoundExporter, ExportJob, ExportSettings
from whyflame.export.fake import InlineExecutor, MemoryExporter
from whyflame.model import Kind, Operation, Span
from whyflame.store.duck import Store, append
from whyflame.store.settled import SettledWriter
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.export import Exporter

SECOND = 1_000_000_000
START = 1_900_000_000 * SECOND  # a multiple of 15 s is not needed


class Clock:
    """Nanoseconds that only move when told to."""

    def __init__(self, now_ns: int = START) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND)


@dataclass
class World:
    """A store, its clock, and the numbering of spans."""

    path: Path
    clock: Clock = field(default_factory=Clock)
    store: Store = field(init=False)
    _keys: Any = field(default_factory=count, init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.store = Store(self.path, threads=1)
        self.writer = SettledWriter(self.store)

    def reopen(self) -> None:
        self.store.close()
        self.open()

    def operation(self, **changes: Any) -> Operation:
        """A counted model call that ended 40 seconds ago."""
        key = next(self._keys)
        ended = changes.pop("end_ns", self.clock() - 40 * SECOND)
        span = Span(
            tenant=changes.pop("tenant", ""),
            signal="span",
            trace_id=changes.pop("trace", 0).to_bytes(16, "big"),
            span_id=key.to_bytes(8, "big"),
            parent_id=None,
            start_ns=ended - SECOND,
            end_ns=ended,
            name="call",
            kind=Kind.LLM,
            dialect="test",
            service=changes.pop("service", "shop"),
            environment=changes.pop("environment", None),
            span_key=changes.pop("key", key),
        )
        span.trace_key = int.from_bytes(span.trace_id, "big")
        values: dict[str, Any] = {
            "session": "s", "kind": Kind.LLM, "counted": True, "operations": 1,
            "agent": "planner", "model": "gpt-5", "leaf": "call gpt-5", "path": ("plan trip",),
            "input_uncached": 100, "output_visible": 20, "cost_nanousd": 1_500,
            "wall_ns": SECOND, "self_ns": SECOND,
        }  # fmt: skip
        return Operation(span=span, **(values | changes))

    def settle(self, *operations: Operation) -> None:
        """Write a generation that holds exactly these operations of their traces."""
        keys = sorted({op.span.trace_key for op in operations})
        group = Group([op.span for op in operations], keys, {})
        write_settled(self.writer, group, operations, [], self.clock())

    def supersede(self, old: Operation, new: Operation) -> None:
        append(
            self.store.cursor(), "superseded", [(old.span.span_key, new.span.span_key, "richer")]
        )

    def totals(self) -> dict[str, int]:
        """Sums over everything that counts."""
        row = (
            self.store.cursor()
            .execute(
                "SELECT coalesce(sum(operations), 0), coalesce(sum(cost_nanousd), 0), "
                "coalesce(sum(self_ns), 0), coalesce(sum(coalesce(input_uncached, 0) + "
                "coalesce(cache_read, 0) + coalesce(cache_write, 0) + coalesce(output_visible, 0) "
                "+ coalesce(reasoning, 0)), 0) FROM operations"
            )
            .fetchone()
        )
        assert row is not None
        names = ("operations", "cost", "duration", "tokens")
        sums = dict(zip(names, map(int, row), strict=True))
        sums["cost"] //= 1000
        return sums


def make_job(world: World, exporter: Exporter | None = None, **settings: Any) -> ExportJob:
    """A started job with one exporter called `out`, without threads and without sleeping."""
    bound = BoundExporter("out", exporter or MemoryExporter(), ExportSettings(**settings))
    job = ExportJob(
        world.store,
        [bound],
        world.clock,
        executor=InlineExecutor,
        random=Random(1),
        pause=world.clock.advance,
    )
    job.start()
    return job
