"""Forwarding: received requests, kept in spools, delivered unchanged to other OTLP endpoints."""

from __future__ import annotations

import logging
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import PermanentError, TransientError
from whyflame.export.pacing import Backoff
from whyflame.export.protocol import (
    PausedError,
    RateLimitedError,
    ReceivedRequest,
    UnavailableError,
)
from whyflame.export.spool import Spool
from whyflame.export.times import SECOND_NS
from whyflame.journal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from whyflame.export.registry import BoundForwarder
    from whyflame.journal import Frame, Position

__all__ = ["Forwarding"]

LOG = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
_PAUSE_NS = 60 * SECOND_NS
# After so many failures in a row one request at a time asks whether the endpoint is back.
_DOUBTFUL = 3
# A request that failed so often while others passed will not pass either.
_HOPELESS_ATTEMPTS = 10


@dataclass(slots=True)
class _Item:
    """A request that is not done with; reading it again begins at `begins`."""

    frame: Frame
    begins: Position
    attempts: int = 0
    not_before_ns: int = 0
    others_passed: bool = False


class _Lane:
    """One signal on its way to one endpoint: `put` is called by one thread, `step` by another.

    Args:
        bound: The forwarder and its settings. signal: Which signal.
        spool: Where requests wait.
        keep: Puts what is given up aside: (signal, body, tenant, reason).
        clock_ns: Now, in nanoseconds since the epoch.
        executor: Runs `forward`.
        random: For the jitter of waiting times.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of one lane
        self,
        bound: BoundForwarder,
        signal: Signal,
        spool: Spool,
        keep: Callable[[Signal, bytes, str, str], object],
        clock_ns: Callable[[], int],
        executor: Executor,
        random: Random,
    ) -> None:
        self._bound, self._signal, self._spool, self._keep = bound, signal, spool, keep
        self._clock_ns, self._executor = clock_ns, executor
        self._backoff = Backoff(random)
        self._open: list[_Item] = []
        self._failures = 0
        self._resume_ns = 0
        self._paused = self._is_away = False

    def put(self, frames: Sequence[Frame]) -> None:
        """Keep the requests of this signal; those without room are counted."""
        mine = [frame for frame in frames if frame.signal is self._signal]
        if not mine:
            return
        try:
            refused = self._spool.put(mine)
        except TransientError as error:
            # Forwarding must not stop indexing: what the disk does not take is not passed on.
            LOG.warning("forwarder %s cannot keep requests: %s", self._bound.name, error)
            refused = len(mine)
        if refused:
            self._count("dropped", refused)

    def step(self) -> bool:
        """Send what may be sent now and wait for the answers; True when anything was sent."""
        now = self._clock_ns()
        if now < self._resume_ns:
            return False
        self._fill()
        chosen = self._due(now)
        sends = [(item, self._executor.submit(self._send, item)) for item in chosen]
        for item, future in sends:
            self._finish(item, future.exception())
        self._spool.advance(self._open[0].begins if self._open else self._spool.position)
        waiting = self._spool.waiting_bytes()
        telemetry.FORWARD_WAITING_BYTES.set(waiting, self._bound.name, self._signal.label)
        return bool(sends)

    def close(self) -> None:
        """Close the spool; what waits stays in it."""
        self._executor.shutdown(wait=True)
        self._spool.close()

    def _fill(self) -> None:
        if len(self._open) >= self._bound.settings.in_flight:
            return
        begins = self._spool.position
        for frame in self._spool.read(_READ_BYTES):
            self._open.append(_Item(frame, begins))
            begins = frame.position_after

    def _due(self, now_ns: int) -> list[_Item]:
        oldest = now_ns - int(self._bound.settings.give_up_after * SECOND_NS)
        for item in [item for item in self._open if item.frame.received_ns < oldest]:
            self._bury(item, "expired")
        is_doubtful = self._failures >= _DOUBTFUL or self._paused
        limit = 1 if is_doubtful else self._bound.settings.in_flight
        return [item for item in self._open if item.not_before_ns <= now_ns][:limit]

    def _send(self, item: _Item) -> None:
        frame = item.frame
        request = ReceivedRequest(
            frame.signal.label, frame.tenant, frame.payload, frame.received_ns
        )
        item.attempts += 1
        refused = self._bound.forwarder.forward(request)
        if refused:
            self._count("refused_records", refused)

    # --- answers ------------------------------------------------------------------------------

    def _finish(self, item: _Item, error: BaseException | None) -> None:
        match error:
            case None:
                self._succeed(item)
            case PermanentError():
                LOG.error("%s refused a request: %s", self._bound.name, error)
                self._bury(item, error.reason)
            case PausedError():
                self._pause(error)
                self._count("paused")
            case RateLimitedError():
                self._hold(error)
                self._count("rate_limited")
            case _:
                self._retry(item, error)

    def _succeed(self, item: _Item) -> None:
        self._open.remove(item)
        self._failures = 0
        for other in self._open:
            other.others_passed |= other.attempts > 0
        if self._paused or self._is_away:
            LOG.warning("forwarder %s goes on", self._bound.name)
            self._paused = self._is_away = False
            telemetry.FORWARD_PAUSED.set(0, self._bound.name, self._signal.label)
        self._count("sent")

    def _bury(self, item: _Item, reason: str) -> None:
        frame = item.frame
        self._keep(frame.signal, frame.payload, frame.tenant, reason)
        self._open.remove(item)
        self._count("dead")

    def _pause(self, error: PausedError) -> None:
        if not self._paused:
            LOG.error("forwarder %s pauses (%s): %s", self._bound.name, error.reason, error)
        self._paused = True
        telemetry.FORWARD_PAUSED.set(1, self._bound.name, self._signal.label)
        self._resume_ns = self._clock_ns() + _PAUSE_NS

    def _hold(self, error: RateLimitedError) -> None:
        self._failures += 1
        wait = self._backoff.wait_ns(self._failures)
        if error.retry_after_seconds is not None:
            wait = int(error.retry_after_seconds * SECOND_NS)
        self._resume_ns = max(self._resume_ns, self._clock_ns() + wait)

    def _retry(self, item: _Item, error: BaseException) -> None:
        """Anything else may pass later, a bug in a third party's forwarder included."""
        if not isinstance(error, TransientError):
            LOG.error("forwarder %s failed: %r", self._bound.name, error)
            telemetry.STAGE_FAILURES.add(1, "forward")
        if item.attempts >= _HOPELESS_ATTEMPTS and item.others_passed:
            self._bury(item, "fails_always")
            return
        self._failures += 1
        if self._failures >= _DOUBTFUL and not self._is_away:
            LOG.warning("forwarder %s cannot deliver, and tries on: %s", self._bound.name, error)
            self._is_away = True
        wait = self._backoff.wait_ns(item.attempts)
        now = self._clock_ns()
        if isinstance(error, UnavailableError) and error.retry_after_seconds is not None:
            wait = int(error.retry_after_seconds * SECOND_NS)
            self._resume_ns = max(self._resume_ns, now + wait)
        item.not_before_ns = now + wait
        self._count("failed")

    def _count(self, outcome: str, number: int = 1) -> None:
        telemetry.FORWARD_REQUESTS.add(number, self._bound.name, self._signal.label, outcome)


class Forwarding:
    """All forwarders: the index stage hands requests in, threads of their own send them on.

    Args:
        directory: Of the spools.
        bound: From `build_forwarders`.
        keep_for: Makes the dead letters of a forwarder from its name.
        clock_ns: Now, in nanoseconds since the epoch.
        executor: Makes the threads that send; called with how many are wanted.
        random: For the jitter of waiting times.
    """

    def __init__(
        self,
        directory: Path,
        bound: Sequence[BoundForwarder],
        keep_for: Callable[[BoundForwarder], Callable[[Signal, bytes, str, str], object]],
        clock_ns: Callable[[], int],
        executor: Callable[[int], Executor] = ThreadPoolExecutor,
        random: Random | None = None,
    ) -> None:
        dice = random or Random()  # noqa: S311 - jitter is no secret
        self._bound = bound
        self._lanes: list[_Lane] = []
        for item in bound:
            keep, settings = keep_for(item), item.settings
            for name in settings.signals:
                spool = Spool(directory / item.name / name, settings.max_spool_bytes)
                signal, workers = Signal[name.upper()], executor(settings.in_flight)
                self._lanes.append(_Lane(item, signal, spool, keep, clock_ns, workers, dice))

    def put(self, frames: Sequence[Frame]) -> None:
        """Keep these requests for every forwarder; called before their journal position moves on.

        Returns when they are on disk. Those without room are counted and not passed on.
        """
        for lane in self._lanes:
            lane.put(frames)

    def start(self) -> None:
        """Start the forwarders; what an earlier process left in the spools is taken up.

        Raises:
            ConfigError: A forwarder cannot start.
        """
        for item in self._bound:
            item.forwarder.start()

    def steps(self) -> list[Callable[[], bool]]:
        """What to repeat, a thread each."""
        return [lane.step for lane in self._lanes]

    def stop(self, deadline_seconds: float = 5.0) -> None:
        """End calls that are under way; `put` goes on working."""
        for item in self._bound:
            item.forwarder.close(deadline_seconds)

    def close(self) -> None:
        """Close the spools; what waits stays in them."""
        for lane in self._lanes:
            lane.close()
