"""The index stage: tails the journal, reads spans through the dialects, commits with the position.

One thread. Spans, positions and counters go into one transaction, so a crash at any moment replays
into the same rows. A request that cannot be read goes to the dead-letter directory with its reason
and never stops the stage.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.config import IndexConfig
from whyflame.content import evidence, extract
from whyflame.errors import PermanentError
from whyflame.index.bounds import bound_span
from whyflame.journal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whyflame.config import ContentConfig
    from whyflame.dialects import Reader
    from whyflame.index.dead_letters import DeadLetters
    from whyflame.journal import Frame, JournalTail, Position
    from whyflame.model import Span
    from whyflame.store.spans import SpanWriter

__all__ = ["Indexer", "SpanReader"]

SECOND_NS = 1_000_000_000
# Small enough to keep a batch in memory, large enough that a commit is shared by many spans.
READ_BYTES = 8 << 20
# Hashes remembered; a user id costs a microsecond to hash again.
MAX_USERS = 100_000


@dataclass(slots=True)
class Read:
    """What came out of some requests, on its way into one transaction."""

    spans: list[Span] = field(default_factory=list)
    counters: Counter[tuple[str, str, str]] = field(default_factory=Counter)


class SpanReader:
    """Requests to spans: dialect, hashed user, features; no text survives it.

    Args:
        dialects: Reads requests; keeps a plan for every shape of span.
        content: What may be kept of texts, by service.
        dead_letters: Where unreadable requests go.
        max_text: Characters of one name or id.
    """

    def __init__(
        self,
        dialects: Reader,
        content: ContentConfig,
        dead_letters: DeadLetters,
        max_text: int = IndexConfig().max_text,
    ) -> None:
        self._max_text = max_text
        self._dialects = dialects
        self._content = content
        self._dead_letters = dead_letters
        self._users: dict[str, str] = {}

    def read(
        self, signal: Signal, payload: bytes, *, tenant: str, received_ns: int, into: Read
    ) -> None:
        """Add the spans of one request; an unreadable one is kept aside and counted."""
        if signal is Signal.METRICS:
            into.counters[tenant, "metric_requests", "accepted"] += 1
            return
        dialects = self._dialects
        read = dialects.read_traces if signal is Signal.TRACES else dialects.read_logs
        try:
            spans = read(payload, tenant=tenant, received_ns=received_ns)
        except PermanentError as error:
            self._dead_letters.keep(signal, payload, tenant, error.reason)
            telemetry.DEAD_LETTERS.add(1, error.reason)
            into.counters[tenant, "dead_letters", error.reason] += 1
            return
        for span in spans:
            self._finish(span)
            for reason in span.dubious:
                telemetry.DUBIOUS_VALUES.add(1, reason)
        into.spans.extend(spans)

    def _finish(self, span: Span) -> None:
        """Hash the user, turn text into features."""
        mode = self._content.services.get(span.service, self._content.mode)
        bound_span(span, self._max_text)
        evidence(span)
        span.features = extract(span, mode)
        if span.user is not None:
            span.user = self._hash_user(span.user)

    def _hash_user(self, user: str) -> str:
        known = self._users.get(user)
        if known is None:
            if len(self._users) >= MAX_USERS:
                self._users.clear()
            known = self._users[user] = hashlib.sha256(user.encode()).hexdigest()[:16]
        return known


class Indexer:
    """Moves frames into the store.

    Args:
        tail: The journal. reader: Requests to spans. writer: The store's appender.
        stored: Called with `AppendResult.traces` after each commit (the settle job's queue).
        clock_ns: Now, in nanoseconds since the epoch.
        hand_on: Gets the frames before their positions are committed, so again after a crash.
    """

    def __init__(
        self,
        tail: JournalTail,
        reader: SpanReader,
        writer: SpanWriter,
        stored: Callable[[Mapping[int, tuple[int, int]]], None],
        clock_ns: Callable[[], int],
        hand_on: Callable[[Sequence[Frame]], None] | None = None,
    ) -> None:
        self._hand_on = hand_on
        self._tail = tail
        self._reader = reader
        self._writer = writer
        self._stored = stored
        self._clock_ns = clock_ns
        self._positions: dict[str, Position] = {}

    def step(self) -> int:
        """Index what is there now, up to one batch.

        Returns:
            How many requests were indexed; 0 when idle.
        """
        batch = self._tail.read(READ_BYTES)
        if batch.positions == self._positions:
            return 0
        if self._hand_on is not None:
            self._hand_on(batch.frames)
        read = self._read(batch.frames)
        positions = {
            stream: (position.segment, position.offset)
            for stream, position in batch.positions.items()
        }
        began = self._clock_ns()
        result = self._writer.append(read.spans, positions, read.counters)
        self._positions = batch.positions
        now = self._clock_ns()
        self._tail.applied(batch.positions, now / SECOND_NS)
        telemetry.INDEX_COMMIT_SECONDS.observe((now - began) / SECOND_NS)
        telemetry.INDEXED_SPANS.add(result.stored)
        telemetry.REPEATED_SPANS.add(result.repeated)
        telemetry.SUPERSEDED_SPANS.add(result.superseded)
        if batch.frames:
            newest = max(frame.received_ns for frame in batch.frames)
            telemetry.INDEX_LAG_SECONDS.set(max(0, now - newest) / SECOND_NS)
        self._stored(result.traces)
        return len(batch.frames)

    def drain(self) -> int:
        """Index until the journal is empty; for commands and orderly stops."""
        total = 0
        while done := self.step():
            total += done
        return total

    def _read(self, frames: Iterable[Frame]) -> Read:
        read = Read()
        for frame in frames:
            self._reader.read(
                frame.signal,
                frame.payload,
                tenant=frame.tenant,
                received_ns=frame.received_ns,
                into=read,
            )
        return read
