"""Delivering payloads of one exporter: what is sent when, and what each answer means."""

from __future__ import annotations

import heapq
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import PermanentError, TransientError
from whyflame.export.pacing import Backoff, LateHorizon, TokenBucket
from whyflame.export.payloads import decode_series
from whyflame.export.protocol import (
    LateError,
    PausedError,
    Payload,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame.export.reshape import halve, restamp
from whyflame.export.times import SECOND_NS, last_closed, payload_time
from whyflame.store.outbox import NewRow

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Executor, Future
    from random import Random

    from whyflame.export.registry import BoundExporter
    from whyflame.store.outbox import OpenRow, Outbox

__all__ = ["Delivery"]

LOG = logging.getLogger(__name__)

_PAUSE_NS = 60 * SECOND_NS
# After so many failures in a row only one payload at a time asks whether the server is back.
_DOUBTFUL = 3
_LATE = "late"
_HOPELESS_ATTEMPTS = 6
_HOPELESS_BYTES = 256 << 10


@dataclass(slots=True)
class _Flight:
    row: OpenRow
    started_ns: int


@dataclass(slots=True)
class _Outcomes:
    """States to record and payloads to put in the place of others."""

    states: list[tuple[int, str, str]] = field(default_factory=list)
    halves: list[OpenRow] = field(default_factory=list)


class Delivery:
    """Sends the payloads of one exporter; used by one thread, sends on the executor's threads.

    Args:
        bound: The exporter and its settings.
        outbox: Where payloads and their states are.
        executor: Runs `send`.
        random: For the jitter of waiting times.
    """

    def __init__(
        self, bound: BoundExporter, outbox: Outbox, executor: Executor, random: Random
    ) -> None:
        self._bound, self._outbox, self._executor = bound, outbox, executor
        settings = bound.settings
        self._bucket = TokenBucket(settings.bytes_per_second, settings.max_profile_bytes)
        self._backoff = Backoff(random)
        self._horizon = LateHorizon()
        self._waiting: list[tuple[int, int, OpenRow]] = []
        self._flying: dict[Future[None], _Flight] = {}
        self._attempts: dict[int, int] = {}
        self._unanswered: set[int] = set()
        self._failures = 0
        self._limited = 0
        self._resume_ns = 0
        self._said: set[str] = set()
        self.paused = ""
        self.send_seconds = 0.0
        self.waiting_bytes = 0

    @property
    def flying(self) -> list[Future[None]]:
        """Sends that are under way."""
        return list(self._flying)

    @property
    def waiting(self) -> int:
        """Payloads that have no final state."""
        return len(self._waiting) + len(self._flying)

    def ready_ns(self) -> int | None:
        """When the next payload may be sent; None when none waits."""
        return max(self._waiting[0][0], self._resume_ns) if self._waiting else None

    def expected_seconds(self) -> float:
        """How long everything that waits takes, at the pace of late."""
        by_latency = self.waiting * self.send_seconds / self._bound.settings.in_flight
        return max(by_latency, self.waiting_bytes / self._bound.settings.bytes_per_second)

    def add(self, rows: Iterable[OpenRow]) -> None:
        """Take over open payloads."""
        for row in rows:
            self.waiting_bytes += row.size
            heapq.heappush(self._waiting, (0, row.id, row))

    def sync(self, rows: Iterable[OpenRow]) -> None:
        """Follow changes made by hand: payloads put back into the outbox, or dropped from it."""
        known = {row.id: row for _, _, row in self._waiting}
        flying = {flight.row.id for flight in self._flying.values()}
        current = {row.id: row for row in rows}
        for row in known.values():
            if row.id not in current:
                self._forget(row)
        self._waiting = [item for item in self._waiting if item[1] in current]
        heapq.heapify(self._waiting)
        self.add(row for row in current.values() if row.id not in known and row.id not in flying)

    def pump(self, now_ns: int) -> bool:
        """Record finished sends and start what may start; True when anything moved."""
        collected = self._collect(now_ns)
        started = self._start(now_ns)
        return collected or started

    def pump_results(self, now_ns: int) -> None:
        """Record finished sends and start nothing more."""
        self._collect(now_ns)

    def wake(self) -> None:
        """Try everything again at once, as after a change of credentials."""
        self._resume_ns, self._failures, self._limited = 0, 0, 0
        self._waiting = [(0, number, row) for _, number, row in self._waiting]
        heapq.heapify(self._waiting)

    # --- starting -----------------------------------------------------------------------------

    def _room(self) -> int:
        if self._failures >= _DOUBTFUL or self.paused:
            return 1 - len(self._flying)
        return self._bound.settings.in_flight - len(self._flying)

    def _start(self, now_ns: int) -> bool:
        if now_ns < self._resume_ns:
            return False
        outcomes = _Outcomes()
        chosen: list[OpenRow] = []
        while len(chosen) < self._room() and self._waiting and self._waiting[0][0] <= now_ns:
            row = self._waiting[0][2]
            if not self._is_sent_away(row, outcomes, now_ns):
                wait = self._bucket.take(row.size, now_ns)
                if wait:
                    self._resume_ns = now_ns + wait
                    break
                chosen.append(row)
            heapq.heappop(self._waiting)
        self._record(outcomes, now_ns)
        if chosen:
            self._send(chosen, now_ns)
        return bool(chosen or outcomes.states)

    def _is_sent_away(self, row: OpenRow, outcomes: _Outcomes, now_ns: int) -> bool:
        """Close a payload that is too old to be sent; True when it is out of the queue."""
        settings = self._bound.settings
        if now_ns - row.created_ns > int(settings.give_up_after * SECOND_NS):
            return self._bury(row, "expired", outcomes)
        if settings.late == "push":
            is_late = self._horizon.refuses(row.time_ns, now_ns)
        else:
            is_late = row.time_ns <= now_ns - int(settings.max_age * SECOND_NS)
        if not is_late:
            return False
        return self._handle_late(row, outcomes, now_ns)

    def _handle_late(self, row: OpenRow, outcomes: _Outcomes, now_ns: int) -> bool:
        policy = self._bound.settings.late
        telemetry.EXPORT_LATE.add(1, self._bound.name, policy)
        if policy != "restamp" or row.attempted or row.id in self._attempts:
            # An attempt may have been stored after all: with another time it would count twice.
            return self._bury(row, _LATE, outcomes)
        body = self._outbox.payloads([row.id])[row.id]

        def make(first_id: int) -> list[NewRow]:
            time_ns = payload_time(last_closed(now_ns), first_id, self._bound.settings.shard)
            packed = restamp(body, time_ns)
            return [
                NewRow(
                    first_id, row.tenant, row.series, time_ns, packed.size, packed.samples,
                    packed.body,
                )
            ]  # fmt: skip

        rows = self._outbox.replace(self._bound.name, row, "restamped", make, now_ns)
        self._forget(row)
        outcomes.halves.extend(rows)
        return True

    def _bury(self, row: OpenRow, reason: str, outcomes: _Outcomes) -> bool:
        outcomes.states.append((row.id, "dead", reason))
        self._forget(row)
        return True

    def _send(self, rows: list[OpenRow], now_ns: int) -> None:
        bodies = self._outbox.payloads([row.id for row in rows])
        if self._bound.settings.late == "restamp":
            fresh = [row for row in rows if not row.attempted and row.id not in self._attempts]
            marks = [(row.id, "attempted", "") for row in fresh]
            self._outbox.finish(self._bound.name, marks, now_ns)
        for row in rows:
            payload = Payload(
                id=row.id,
                exporter=self._bound.name,
                tenant=row.tenant,
                labels=decode_series(row.series),
                time_ns=row.time_ns,
                body=bodies[row.id],
                size=row.size,
                samples=row.samples,
            )
            self._attempts[row.id] = self._attempts.get(row.id, 0) + 1
            future = self._executor.submit(self._bound.exporter.send, payload)
            self._flying[future] = _Flight(row, now_ns)

    # --- answers ------------------------------------------------------------------------------

    def _collect(self, now_ns: int) -> bool:
        finished = [future for future in self._flying if future.done()]
        outcomes = _Outcomes()
        for future in finished:
            flight = self._flying.pop(future)
            self._time(flight, now_ns)
            error = future.exception()
            if error is None:
                self._succeed(flight.row, outcomes)
            else:
                self._fail(flight.row, error, outcomes, now_ns)
        self._record(outcomes, now_ns)
        return bool(finished)

    def _time(self, flight: _Flight, now_ns: int) -> None:
        seconds = max(0, now_ns - flight.started_ns) / SECOND_NS
        telemetry.EXPORT_SEND_SECONDS.observe(seconds, self._bound.name)
        self.send_seconds += 0.2 * (seconds - self.send_seconds)

    def _succeed(self, row: OpenRow, outcomes: _Outcomes) -> None:
        self._resume()
        self._failures = self._limited = 0
        outcomes.states.append((row.id, "sent", ""))
        telemetry.EXPORT_SENT_BYTES.add(row.size, self._bound.name)
        self._forget(row)

    def _fail(self, row: OpenRow, error: BaseException, outcomes: _Outcomes, now_ns: int) -> None:
        match error:
            case LateError():
                self._say(_LATE, "%s refused a profile as late: %s", self._bound.name, error)
                self._horizon.learn(row.time_ns, now_ns)
                telemetry.EXPORT_LATE.add(1, self._bound.name, "refused")
                self._bury(row, _LATE, outcomes)
            case TooLargeError():
                self._split(row, outcomes, now_ns)
            case PermanentError():
                self._say(error.reason, "%s refused a profile: %s", self._bound.name, error)
                self._bury(row, error.reason, outcomes)
            case RateLimitedError():
                self._limited += 1
                if not error.partly_taken and self._is_hopeless(row):
                    self._split(row, outcomes, now_ns)
                    return
                self._hold(row, error, self._backoff.wait_ns(self._limited), now_ns)
            case PausedError():
                self._pause(row, error, now_ns)
            case _:
                self._retry(row, error, now_ns)

    def _is_hopeless(self, row: OpenRow) -> bool:
        """A large payload refused again and again may be larger than the server's burst.

        Not one that a server may have stored without our knowing: its halves would count again.
        """
        return (
            row.id not in self._unanswered
            and self._attempts.get(row.id, 0) >= _HOPELESS_ATTEMPTS
            and row.size > _HOPELESS_BYTES
            and row.samples > 1
        )

    def _hold(self, row: OpenRow, error: RateLimitedError, backoff_ns: int, now_ns: int) -> None:
        """Nothing is sent to this server for a while."""
        until = now_ns + backoff_ns
        if error.retry_after_seconds is not None:
            until = now_ns + int(error.retry_after_seconds * SECOND_NS)
        if error.resume_at_ns is not None:
            until = max(now_ns, error.resume_at_ns)
        self._resume_ns = max(self._resume_ns, until)
        self._outcome("rate_limited")
        self._requeue(row, until)

    def _pause(self, row: OpenRow, error: PausedError, now_ns: int) -> None:
        if not self.paused:
            LOG.error("exporter %s pauses (%s): %s", self._bound.name, error.reason, error)
        self.paused = error.reason
        telemetry.EXPORT_PAUSED.set(1, self._bound.name)
        self._resume_ns = now_ns + _PAUSE_NS
        self._outcome("paused")
        self._requeue(row, self._resume_ns)

    def _resume(self) -> None:
        if self.paused or self._failures >= _DOUBTFUL:
            LOG.warning("exporter %s goes on", self._bound.name)
        self.paused = ""
        telemetry.EXPORT_PAUSED.set(0, self._bound.name)

    def _retry(self, row: OpenRow, error: BaseException, now_ns: int) -> None:
        """Anything else may pass later, a bug in a third party's exporter included."""
        if not isinstance(error, TransientError):
            self._say(type(error).__name__, "exporter %s failed: %r", self._bound.name, error)
            telemetry.STAGE_FAILURES.add(1, "export")
        self._failures += 1
        if self._failures == _DOUBTFUL:
            LOG.warning("exporter %s cannot deliver, and tries on: %s", self._bound.name, error)
        self._unanswered.add(row.id)
        wait = self._backoff.wait_ns(self._attempts.get(row.id, 1))
        if isinstance(error, UnavailableError) and error.retry_after_seconds is not None:
            wait = int(error.retry_after_seconds * SECOND_NS)
            self._resume_ns = max(self._resume_ns, now_ns + wait)
        self._outcome("failed")
        self._requeue(row, now_ns + wait)

    def _split(self, row: OpenRow, outcomes: _Outcomes, now_ns: int) -> None:
        if row.samples < 2:  # noqa: PLR2004 - one sample cannot be divided
            self._bury(row, "too_large", outcomes)
            return
        body = self._outbox.payloads([row.id])[row.id]
        # The two halves need times of their own; those of their ids in the old window are.
        window_end = -(-row.time_ns // (15 * SECOND_NS)) * 15 * SECOND_NS
        shard = self._bound.settings.shard

        def make(first_id: int) -> list[NewRow]:
            ids = (first_id, first_id + 1)
            times = (
                payload_time(window_end, ids[0], shard),
                payload_time(window_end, ids[1], shard),
            )
            return [
                NewRow(number, row.tenant, row.series, time, part.size, part.samples, part.body)
                for number, time, part in zip(ids, times, halve(body, times), strict=True)
            ]

        rows = self._outbox.replace(self._bound.name, row, "split", make, now_ns)
        self._outcome("split")
        self._forget(row)
        outcomes.halves.extend(rows)

    # --- bookkeeping --------------------------------------------------------------------------

    def _requeue(self, row: OpenRow, not_before_ns: int) -> None:
        heapq.heappush(self._waiting, (not_before_ns, row.id, row))

    def _forget(self, row: OpenRow) -> None:
        self._attempts.pop(row.id, None)
        self._unanswered.discard(row.id)
        self.waiting_bytes -= row.size

    def _record(self, outcomes: _Outcomes, now_ns: int) -> None:
        if outcomes.states:
            self._outbox.finish(self._bound.name, outcomes.states, now_ns)
        for _, state, reason in outcomes.states:
            self._outcome(state)
            if state == "dead":
                telemetry.EXPORT_DEAD.add(1, self._bound.name, reason)
        self.add(outcomes.halves)

    def _outcome(self, outcome: str) -> None:
        telemetry.EXPORT_PAYLOADS.add(1, self._bound.name, outcome)

    def _say(self, reason: str, text: str, *arguments: object) -> None:
        """Log once per reason; the counters tell how often."""
        if reason not in self._said:
            self._said.add(reason)
            LOG.error(text, *arguments)
