"""The index stage: tails the journal, reads spans through the dialects, commits with the position.

One thread. Spans, positions and counters go into one transaction, so a crash at any moment replays
into the same rows. A request that cannot be read goes to the dead-letter directory with its reason
and never stops the stage.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.config import IndexConfig
from whyflame.content import NameFilter, evidence, extract_all, mask_assigned
from whyflame.errors import PermanentError, TransientError
from whyflame.index.bounds import bound_span
from whyflame.journal import Losses, Position, Signal
from whyflame.store.spans import AppendResult

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whyflame.config import ContentConfig
    from whyflame.dialects import Reader
    from whyflame.index.dead_letters import DeadLetters
    from whyflame.journal import Batch, Frame, JournalTail
    from whyflame.model import Span
    from whyflame.store.spans import SpanWriter

__all__ = ["Indexer", "SpanReader"]

_LOG = logging.getLogger(__name__)
SECOND_NS = 1_000_000_000
# Small enough to keep a batch in memory, large enough that a commit is shared by many spans.
READ_BYTES = 16 << 20
# The batch after one of this size should follow at once, and is read while that one is committed.
LARGE_BYTES = READ_BYTES // 4
FAR_BEHIND_NS = 2_000_000_000
_START = Position()
_LOOK_SECONDS = 0.02
# Hashes remembered; a user id costs a microsecond to hash again.
MAX_USERS = 100_000


@dataclass(slots=True)
class Read:
    """What came out of some requests, on its way into one transaction.

    Attributes:
        spans: Read. counters: What coverage counts.
    """

    spans: list[Span] = field(default_factory=list)
    counters: Counter[tuple[str, str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class _Taken:
    """A batch out of the journal, on its way into the store.

    Attributes:
        losses: What the journal had skipped by then, since the start.
        read: Its spans, when they are read already; storing changes them, so they serve once.
    """

    batch: Batch
    losses: Losses
    read: Read | None = None

    @property
    def is_large(self) -> bool:
        """The next batch should follow at once."""
        return sum(len(frame.payload) for frame in self.batch.frames) > LARGE_BYTES


class SpanReader:
    """Requests to spans: dialect, hashed user, redacted names, features; no text survives it.

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
        self._names = NameFilter()

    def read(
        self, signal: Signal, payload: bytes, *, tenant: str, received_ns: int, into: Read
    ) -> None:
        """Add the spans of one request; an unreadable one is kept aside and counted.

        Raises:
            TransientError: It cannot even be kept aside; nothing acknowledged may be dropped
                because of a fault of ours, so the stage has to wait.
        """
        if signal is Signal.METRICS:
            into.counters[tenant, "metric_requests", "accepted"] += 1
            return
        dialects = self._dialects
        read = dialects.read_traces if signal is Signal.TRACES else dialects.read_logs
        try:
            spans = read(payload, tenant=tenant, received_ns=received_ns)
            self._finish(spans)
        except PermanentError as error:
            self.set_aside(signal, payload, tenant, error.reason, received_ns, into)
            return
        except Exception as error:
            # The type alone: the text of an unexpected error may quote content.
            _LOG.error("reading a request failed: %s", type(error).__name__)
            if not self.set_aside(signal, payload, tenant, "unreadable", received_ns, into):
                raise TransientError("the dead-letter directory is full") from error
            return
        for span in spans:
            for reason in span.dubious:
                telemetry.DUBIOUS_VALUES.add(1, reason)
        into.spans.extend(spans)

    def set_aside(
        self,
        signal: Signal,
        payload: bytes,
        tenant: str,
        reason: str,
        received_ns: int,
        into: Read,
    ) -> bool:
        """Keep a body as a dead letter; False when there was no room for it.

        It is counted at its first arrival, each time that one is read: the transaction that would
        have counted it may have failed.
        """
        letter = (signal, payload, tenant, reason, received_ns)
        if self._dead_letters.has_another(*letter):
            return True
        telemetry.DEAD_LETTERS.add(1, reason)
        into.counters[tenant, "dead_letters", reason] += 1
        return self._dead_letters.keep(*letter)

    def _finish(self, spans: Sequence[Span]) -> None:
        """Hash users, redact names, turn text into features; step by step, not span by span.

        That is cheaper: code and tables of a step stay in the processor's caches.
        """
        of_service, usual = self._content.services.get, self._content.mode
        for span in spans:
            bound_span(span, self._max_text)
        modes = [of_service(span.service, usual) for span in spans]
        for span, mode in zip(spans, modes, strict=True):
            evidence(span, of_content=mode != "none")
            if span.content is not None and mode != "none":
                mask_assigned(span.content)
        for span, features in zip(spans, extract_all(spans, modes), strict=True):
            span.features = features
            self._names.clean(span)
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
        self._taken: _Taken | None = None
        self._ahead: _Taken | None = None
        self._is_handed_on = False
        self._losses = Losses()
        self._is_published = True
        self._is_behind = False
        self._lag_ns = 0

    @property
    def is_behind(self) -> bool:
        """The last batch was a large one: the next should follow at once.

        After a small one it pays to wait a little, so that many tiny requests share a commit.
        """
        return self._is_behind

    @property
    def is_far_behind(self) -> bool:
        """What was stored last had waited for longer than a batch takes."""
        return self._lag_ns > FAR_BEHIND_NS

    @property
    def losses(self) -> dict[str, int]:
        """What the journal had to skip since the start; coverage has it over all time."""
        return asdict(self._tail.losses)

    def wait_for_acknowledged(self, patience_seconds: float, stopping: threading.Event) -> bool:
        """Return once what was acknowledged before the call is stored; for threads beside `step`.

        Returns:
            False when nothing more was stored for so long, or when `stopping` was set: then nobody
            steps any more.
        """
        ends = self._tail.ends()
        seen, since = self._positions, time.monotonic()
        while not all(self._positions.get(name, _START) >= end for name, end in ends.items()):
            if self._positions is not seen:
                seen, since = self._positions, time.monotonic()
            if time.monotonic() - since > patience_seconds or stopping.wait(_LOOK_SECONDS):
                return False
        return True

    def step(self) -> int:
        """Index what is there now, up to one batch.

        After an error the same batch is tried again: the journal has moved on, the store has not.

        Returns:
            How many requests were indexed; 0 when idle.
        """
        self._publish()
        taken = self._taken or self._take()
        batch = taken.batch
        if batch.positions == self._positions:
            self._is_behind, self._lag_ns = False, 0
            return 0
        self._taken = taken
        if self._hand_on is not None and not self._is_handed_on:
            self._hand_on(batch.frames)
            self._is_handed_on = True
        began = self._clock_ns()
        result = self._store(taken)
        self._taken, self._ahead, self._is_handed_on = self._ahead, None, False
        self._is_behind = taken.is_large
        # Stored is stored: what comes next may fail on a full disk and must not keep this back.
        self._stored(result.traces)
        self._positions = batch.positions  # whoever waits for them settles these traces
        self._is_published = False
        now = self._clock_ns()
        telemetry.INDEX_COMMIT_SECONDS.observe((now - began) / SECOND_NS)
        telemetry.INDEXED_SPANS.add(result.stored)
        telemetry.REPEATED_SPANS.add(result.repeated)
        telemetry.SUPERSEDED_SPANS.add(result.superseded)
        if batch.frames:
            newest = max(frame.received_ns for frame in batch.frames)
            self._lag_ns = max(0, now - newest)
            telemetry.INDEX_LAG_SECONDS.set(self._lag_ns / SECOND_NS)
        self._publish()
        return len(batch.frames)

    def _publish(self) -> None:
        """Tell receivers how far the store is; again at the next step when the disk is full."""
        if not self._is_published:
            self._tail.applied(self._positions, self._clock_ns() / SECOND_NS)
            self._is_published = True

    def _take(self) -> _Taken:
        batch = self._tail.read(READ_BYTES)
        return _Taken(batch, replace(self._tail.losses))

    def _store(self, taken: _Taken) -> AppendResult:
        """Commit a batch; when the store refuses it, find the requests it refuses."""
        batch, read = taken.batch, taken.read or self._read(taken.batch.frames)
        taken.read = None
        try:
            self._note_losses(taken.losses, read)
            result = self._writer.append(
                read.spans,
                _plain(batch.positions),
                read.counters,
                meanwhile=partial(self._look_ahead, batch.positions) if taken.is_large else None,
            )
        except TransientError:
            raise  # the disk is full or memory short: nothing is wrong with the requests
        except Exception as error:
            _LOG.error("storing a batch failed: %s", type(error).__name__)
            # A store that takes nothing at all is no fault of the requests: wait for it.
            self._writer.append([], _plain(self._positions), {})
            if len(batch.frames) == 0:
                raise
            return self._store_singly(batch)
        self._losses = taken.losses
        return result

    def _look_ahead(self, here: Mapping[str, Position]) -> None:
        """Take and read the next batch; what goes wrong is met again by the step it belongs to."""
        # Nothing may come out of here: whether a batch is stored is for its commit to say.
        with suppress(Exception):
            if self._ahead is None:
                taken = self._take()
                # Not when nothing has come: by the next step something may have.
                self._ahead = taken if taken.batch.positions != here else None
            if self._ahead is not None and self._ahead.read is None:
                self._ahead.read = self._read(self._ahead.batch.frames)

    def _note_losses(self, seen: Losses, read: Read) -> None:
        """Count what the journal had to skip, in the transaction that passes over it."""
        known = self._losses
        for name, amount in (
            ("corrupt", seen.corrupt_frames - known.corrupt_frames),
            ("torn", seen.torn_tails - known.torn_tails),
        ):
            if amount:
                # Whose they were was in what is damaged.
                read.counters["", "journal_lost", name] += amount

    def _store_singly(self, batch: Batch) -> AppendResult:
        """Every request in a transaction of its own; those that cannot be stored go aside."""
        total = AppendResult()
        for frame in batch.frames:
            read = self._read([frame])
            try:
                result = self._writer.append(read.spans, {}, read.counters)
            except TransientError:
                raise
            except Exception as error:
                _LOG.error("a request cannot be stored: %s", type(error).__name__)
                refused = Read()
                if not self._reader.set_aside(
                    frame.signal,
                    frame.payload,
                    frame.tenant,
                    "unstorable",
                    frame.received_ns,
                    refused,
                ):
                    raise TransientError("the dead-letter directory is full") from error
                result = self._writer.append([], {}, refused.counters)
            # At once: when a later one fails, these come again as repeats that tell nothing.
            self._stored(result.traces)
            total.add(result)
        self._writer.append([], _plain(batch.positions), {})
        return total

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


def _plain(positions: Mapping[str, Position]) -> dict[str, tuple[int, int]]:
    return {name: (position.segment, position.offset) for name, position in positions.items()}
