"""The index stage: tails the journal, reads spans through the dialects, commits with the position.

One thread. Spans, positions and counters go into one transaction, so a crash at any moment replays
into the same rows. A request that cannot be read goes to the dead-letter directory with its reason
and never stops the stage.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import TransientError
from whyflame.index.reading import Read, SpanReader
from whyflame.index.trail import Trail
from whyflame.journal import Losses, Position
from whyflame.store.spans import AppendResult

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from whyflame.journal import Batch, Frame, JournalTail
    from whyflame.store.spans import SpanWriter

__all__ = ["Indexer", "Read", "SpanReader"]

_LOG = logging.getLogger(__name__)
SECOND_NS = 1_000_000_000
# Small enough to keep a batch in memory, large enough that a commit is shared by many spans.
READ_BYTES = 16 << 20
# The batch after one of this size should follow at once, and is read while that one is committed.
LARGE_BYTES = READ_BYTES // 4
# A kilobyte each. A request has no more than twice as many.
MAX_SPANS = 100_000
# Beside the streams of the journal.
TRAIL = "trail.json"
FAR_BEHIND_NS = 2_000_000_000
_START = Position()
_LOOK_SECONDS = 0.02


@dataclass(slots=True)
class _Taken:
    """A batch out of the journal, on its way into the store.

    Attributes:
        losses: What the journal had skipped by then, since the start.
        read: Its spans, when they are read already; storing changes them, so they serve once.
        rest: What was cut off, since it would be too much for one transaction.
    """

    batch: Batch
    losses: Losses
    read: Read | None = None
    rest: Batch | None = None

    @property
    def is_large(self) -> bool:
        """The next batch should follow at once."""
        return (
            self.rest is not None
            or sum(len(frame.payload) for frame in self.batch.frames) > LARGE_BYTES
        )


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
        self._began = tail.positions
        self._trail = Trail(tail.directory / TRAIL, self._began)
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
        is_suspect = self._trail.begin()
        if taken.read is None and not is_suspect:
            self._decode(taken, self._began | self._positions)
            batch = taken.batch
        if self._hand_on is not None and not self._is_handed_on:
            self._hand_on(batch.frames)
            self._is_handed_on = True
        began = self._clock_ns()
        result = self._store_singly(batch) if is_suspect else self._store(taken)
        self._trail.end()
        self._follow(taken)
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

    def _follow(self, taken: _Taken) -> None:
        """Go on with what was cut off, or was read ahead."""
        self._is_behind, self._is_handed_on = taken.is_large, False
        if taken.rest is not None:
            self._taken = _Taken(taken.rest, taken.losses)
        else:
            self._taken, self._ahead = self._ahead, None

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
        batch, read = taken.batch, taken.read or Read()
        taken.read = None
        try:
            self._note_losses(taken.losses, read)
            result = self._writer.append(
                read.spans,
                _plain(batch.positions),
                read.counters,
                meanwhile=self._ahead_of(taken),
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

    def _ahead_of(self, taken: _Taken) -> Callable[[], None] | None:
        """What to do while a batch is stored."""
        if taken.rest is not None or not taken.is_large:
            return None
        return partial(self._look_ahead, taken.batch.positions)

    def _look_ahead(self, here: Mapping[str, Position]) -> None:
        """Take and read the next batch; what goes wrong is met again by the step it belongs to."""
        # Nothing may come out of here: whether a batch is stored is for its commit to say.
        with suppress(Exception):
            if self._ahead is None:
                taken = self._take()
                # Not when nothing has come: by the next step something may have.
                self._ahead = taken if taken.batch.positions != here else None
            if self._ahead is not None and self._ahead.read is None:
                self._decode(self._ahead, here)

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
            result = self._store_one(frame)
            # At once: when a later one fails, these come again as repeats that tell nothing.
            self._stored(result.traces)
            total.add(result)
        self._writer.append([], _plain(batch.positions), {})
        return total

    def _store_one(self, frame: Frame) -> AppendResult:
        if not self._trail.take_up(frame):
            return self._keep_aside(frame, "fatal")
        try:
            read = Read()
            self._reader.read_frame(frame, read)
            return self._writer.append(read.spans, {}, read.counters)
        except TransientError:
            raise
        except Exception as error:  # noqa: BLE001 - one request must not stop the stage
            _LOG.error("a request cannot be stored: %s", type(error).__name__)
            return self._keep_aside(frame, "unstorable", error)
        finally:
            self._trail.let_go()

    def _keep_aside(
        self, frame: Frame, reason: str, error: Exception | None = None
    ) -> AppendResult:
        refused = Read()
        if not self._reader.set_aside(
            frame.signal, frame.payload, frame.tenant, reason, frame.received_ns, refused
        ):
            raise TransientError("the dead-letter directory is full") from error
        return self._writer.append([], {}, refused.counters)

    def drain(self) -> int:
        """Index until the journal is empty; for commands and orderly stops."""
        total = 0
        while done := self.step():
            total += done
        # Receivers may have ended since the last step: only now may their last segments be emptied.
        self._is_published = not self._positions
        self._publish()
        return total

    def _decode(self, taken: _Taken, before: Mapping[str, Position]) -> None:
        """Read a batch's requests; what would be too many spans for one transaction is cut off.

        Args:
            taken: Gets what was read. before: Positions in front of the batch.
        """
        frames, read = taken.batch.frames, Read()
        for number, frame in enumerate(frames, 1):
            self._reader.read_frame(frame, read)
            if len(read.spans) >= MAX_SPANS and number < len(frames) and taken.rest is None:
                taken.batch, taken.rest = taken.batch.split(number, before)
                break
        taken.read = read


def _plain(positions: Mapping[str, Position]) -> dict[str, tuple[int, int]]:
    return {name: (position.segment, position.offset) for name, position in positions.items()}
