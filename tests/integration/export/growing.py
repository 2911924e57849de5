"""An agent's run that arrives in pieces, through the real store, settling, segmenting and export."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from tests.integration.export.world import SECOND, Clock
from tests.unit.segment.made import features

from whyflame.app.segments import StoredSegments
from whyflame.config import Config, SegmentConfig, SettleConfig
from whyflame.export import BoundExporter, ExportJob, ExportSettings
from whyflame.export.fake import InlineExecutor, MemoryExporter
from whyflame.export.reshape import unpack
from whyflame.model import Kind, Span
from whyflame.segment import load_segmenter
from whyflame.settle.job import SettleJob
from whyflame.settle.rules import build_settle
from whyflame.store.duck import Store
from whyflame.store.outbox import Outbox
from whyflame.store.past import StorePast
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Unsettled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whyflame.store.outbox import Drift

TOKENS = 110
WORK = (
    ("Let me look at the login code.", "Grep", "login src"),
    ("Let me read the session module.", "Read", "/app/session.py"),
    ("Now fix the login handler.", "Edit", "/app/login.py"),
    (None, "Edit", "/app/login.py"),
    ("Let me run the tests.", "Bash", "pytest -q"),
    ("The import is wrong, fix it.", "Edit", "/app/login.py"),
    ("Write the documentation of the cache.", "Write", "/app/docs/cache.md"),
    ("Install the database driver.", "Bash", "pip install driver"),
)


@dataclass
class Growing:
    """A store with one run that grows; a clock that only tests move."""

    path: Path
    settings: dict[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    exporter: MemoryExporter = field(default_factory=MemoryExporter)

    def __post_init__(self) -> None:
        self.store = Store(self.path, threads=1)
        self.spans = SpanWriter(self.store)
        self.unsettled = Unsettled(self.store, gap_ns=4 * 3600 * SECOND)
        self.segment = StoredSegments(StorePast(self.store), load_segmenter(SegmentConfig()))
        self.settle = SettleJob(
            self.unsettled, SettledWriter(self.store), build_settle(Config()), self.segment,
            SettleConfig(), self.clock,
        )  # fmt: skip
        bound = BoundExporter("out", self.exporter, ExportSettings(**self.settings))
        self.job = ExportJob(
            self.store, [bound], self.clock, executor=InlineExecutor, random=Random(1),
            pause=self.clock.advance,
        )  # fmt: skip
        self.job.start()
        self._number = 1

    def close(self) -> None:
        self.job.close()
        self.store.close()

    def arrive(self, spans: Sequence[Span]) -> None:
        """Received now."""
        for span in spans:
            span.received_ns = self.clock()
        self.unsettled.add(self.spans.append(spans, {}, {}).traces)

    def steps(self, count: int, parent: int | None = 1) -> list[Span]:
        """The next steps of the run: a model call and a tool call each, below span `parent`."""
        return [span for _ in range(count) for span in self._step(parent)]

    def _step(self, parent: int | None) -> list[Span]:
        said, tool, arguments = WORK[self._number // 2 % len(WORK)]
        call = self.span(Kind.LLM, parent)
        call.features = features(response=said) if said else None
        call.input_uncached, call.output_visible, call.model = TOKENS - 10, 10, "m"
        used = self.span(Kind.TOOL, parent)
        used.tool, used.features = tool, features(Kind.TOOL, tool, arguments=arguments)
        return [call, used]

    def span(self, kind: Kind, parent: int | None, number: int | None = None) -> Span:
        """A span that ends now; the clock goes on by a second."""
        if number is None:
            self._number += 1
            number = self._number
        self.clock.advance(1)
        return Span(
            "", "span", (7).to_bytes(16, "big"), number.to_bytes(8, "big"),
            None if parent is None else parent.to_bytes(8, "big"),
            self.clock() - SECOND, self.clock(), kind.value, kind, "test", service="svc",
            session="s",
        )  # fmt: skip

    def sub_agent(self, steps: int) -> list[Span]:
        """The steps of another agent, its span (901), and the call (900) that started it."""
        call, agent = self.span(Kind.TOOL, 1, 900), self.span(Kind.AGENT, 900, 901)
        call.tool, agent.agent = "Task", "reviewer"
        inner = self.steps(steps, parent=901)
        call.end_ns = agent.end_ns = self.clock()
        return [*inner, agent, call]

    def root(self) -> Span:
        """The agent's span, number 1, which ends last."""
        made = self.span(Kind.AGENT, None, 1)
        made.agent, made.start_ns = "coder", self.clock() - 3600 * SECOND
        return made

    def tick(self, seconds: float = 0.0) -> None:
        """Time passes; what is ready is settled, segmented and exported."""
        self.clock.advance(seconds)
        self.settle.tick()
        while self.job.flush(0):
            self.clock.advance(0.1)

    def exported_tokens(self) -> int:
        """All that the backend was given."""
        profiles = [unpack(payload.body)[0] for payload in self.exporter.accepted]
        return sum(profile.total("tokens") for profile in profiles)

    def drift(self) -> Drift:
        """What was exported under another path than it has now."""
        return Outbox(self.store).drift("out")
