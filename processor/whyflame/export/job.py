"""The export job: settled operations of closed windows go into the outbox, and out to backends."""

from __future__ import annotations

import logging
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from random import Random
from time import monotonic, sleep
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.export.delivery import Delivery
from whyflame.export.labels import SeriesGuard
from whyflame.export.payloads import PayloadBuilder, decode_series
from whyflame.export.times import SECOND_NS, WindowControl
from whyflame.store.ask import DictionaryTables
from whyflame.store.outbox import Outbox
from whyflame.store.outbox_hold import NOTHING_HELD, HoldRule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whyflame.export.registry import BoundExporter
    from whyflame.store.duck import Store
    from whyflame.store.outbox import Batch, Built, Taken

__all__ = ["ExportJob"]

LOG = logging.getLogger(__name__)

# While sends succeed a tick goes on for that much longer, then new operations get their turn.
_OVERTIME_SECONDS = 3.0
_PRUNE_NS = 60 * SECOND_NS
_DRIFT_NS = 300 * SECOND_NS
_SERIES_MEMORY_NS = 24 * 3600 * SECOND_NS
# A parent that has not arrived means that a run goes on, or that it was lost with its process, or
# belongs to a caller that sends its spans elsewhere. Runs of the last kinds have to be in the
# backend within a minute as well, so it is not waited for longer; when the run goes on after all,
# what was exported keeps its path (`segment.keeping`).
_PARENT_SECONDS = 45.0


class ExportJob:
    """Exports to every configured backend; `tick` is called by one thread.

    Args:
        store: The open store.
        exporters: From `build_exporters`.
        clock_ns: Now, in nanoseconds since the epoch.
        executor: Makes the threads that send; called with how many are wanted.
        random: For the jitter of waiting times.
        pause: Waits for so many seconds, between sends that the rate does not allow yet.
    """

    def __init__(
        self,
        store: Store,
        exporters: Sequence[BoundExporter],
        clock_ns: Callable[[], int],
        executor: Callable[[int], Executor] = ThreadPoolExecutor,
        random: Random | None = None,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        self._store = store
        self._exporters = exporters
        self._clock_ns = clock_ns
        self._make_executor = executor
        self._random = random or Random()  # noqa: S311 - jitter is no secret
        self._pause = pause
        self._channels: list[_Channel] = []

    def start(self) -> None:
        """Start the exporters and take up what an earlier process left in the outbox.

        Raises:
            ConfigError: An exporter cannot start.
        """
        for bound in self._exporters:
            bound.exporter.start()
            executor = self._make_executor(bound.settings.in_flight)
            self._channels.append(
                _Channel(bound, self._store, executor, self._random, self._clock_ns())
            )

    def tick(self, patience_seconds: float = 2.0) -> bool:
        """Fold what is new, then deliver.

        Args:
            patience_seconds: How long to wait for answers, and for the rate to allow the next send.

        Returns:
            True when payloads still wait.
        """
        now = self._clock_ns()
        for channel in self._channels:
            channel.fold(now)
        self._deliver(patience_seconds)
        for channel in self._channels:
            channel.tidy(now)
        return any(channel.delivery.waiting for channel in self._channels)

    def flush(self, patience_seconds: float = 10.0) -> bool:
        """Export everything settled, without waiting for the next interval.

        Returns:
            True when payloads still wait.
        """
        for channel in self._channels:
            channel.hurry()
        return self.tick(patience_seconds)

    def delivery_of(self, name: str) -> Delivery:
        """The delivery of one exporter, for commands and tests."""
        return next(channel.delivery for channel in self._channels if channel.name == name)

    def window_of(self, name: str) -> int:
        """Seconds of the windows that one exporter makes now."""
        return next(channel.window_seconds for channel in self._channels if channel.name == name)

    def look_again(self) -> None:
        """Follow, at the next tick, what was changed in the outbox by hand."""
        for channel in self._channels:
            channel.look_again()

    def wake(self) -> None:
        """Try again at once what waits, as after a change of credentials."""
        for channel in self._channels:
            channel.delivery.wake()

    def close(self, deadline_seconds: float = 5.0) -> None:
        """Wait for sends under way, record their outcome, stop; the outbox keeps the rest."""
        end = monotonic() + deadline_seconds
        for channel in self._channels:
            wait(channel.delivery.flying, timeout=max(0.0, end - monotonic()))
            channel.close(self._clock_ns(), max(0.0, end - monotonic()))
        self._channels.clear()

    def _deliver(self, patience_seconds: float) -> None:
        end = monotonic() + patience_seconds
        while True:
            moved = [channel.delivery.pump(self._clock_ns()) for channel in self._channels]
            left = end - monotonic()
            flying = [future for channel in self._channels for future in channel.delivery.flying]
            if any(moved) and left > -_OVERTIME_SECONDS:
                continue
            if left <= 0:
                return
            if flying:
                wait(flying, timeout=left, return_when=FIRST_COMPLETED)
                continue
            idle = self._seconds_until_ready()
            if idle is None or idle > left:
                return
            self._pause(idle)

    def _seconds_until_ready(self) -> float | None:
        """When the next payload may be sent; None when none waits."""
        ready = [channel.delivery.ready_ns() for channel in self._channels]
        moments = [moment for moment in ready if moment is not None]
        if not moments:
            return None
        return max(0.001, (min(moments) - self._clock_ns()) / SECOND_NS)


class _Channel:
    """One exporter: folding for it, delivering to it, tidying up after it."""

    def __init__(
        self, bound: BoundExporter, store: Store, executor: Executor, random: Random, now_ns: int
    ) -> None:
        settings = bound.settings
        self.name = bound.name
        self._bound = bound
        self._executor = executor
        self._outbox = Outbox(store)
        self._guard = SeriesGuard(settings.max_series // len(settings.measures))
        for tenant, series in self._outbox.known_series(bound.name, now_ns - _SERIES_MEMORY_NS):
            self._guard.remember(tenant, decode_series(series))
        self._builder = PayloadBuilder(
            settings, DictionaryTables(store, store.cursor()), self._guard
        )
        self._windows = WindowControl(
            smallest_ns=_on_grid(settings.window),
            largest_ns=_on_grid(settings.max_window),
            interval_ns=int(settings.interval * SECOND_NS),
        )
        self.delivery = Delivery(bound, self._outbox, executor, random)
        self.delivery.add(self._outbox.open_rows(bound.name))
        self._generation = -1
        self._rule, self._held = _hold_rule(bound), NOTHING_HELD
        self._next_batch_ns = self._next_prune_ns = self._next_drift_ns = 0

    @property
    def window_seconds(self) -> int:
        """Width of the windows made now."""
        return self._windows.window_ns // SECOND_NS

    def fold(self, now_ns: int) -> None:
        """Put newly settled operations into the outbox when it is time and there is room."""
        if now_ns < self._next_batch_ns:
            return
        complete, made = False, 0
        while not complete and self._has_room():
            taken = self._take(now_ns)
            complete, made = taken.complete, made + len(taken.rows)
        if made:
            self._windows.observe(self.delivery.expected_seconds())
        self._next_batch_ns = now_ns + self._windows.batch_interval_ns

    def _take(self, now_ns: int) -> Taken:
        window_ns = self._windows.window_ns

        def build(batch: Batch) -> Built:
            return self._builder.build(batch, window_ns, now_ns)

        query = self._builder.query(
            self._bound.name, self._generation, window_ns, now_ns, self._rule, self._held
        )
        taken = self._outbox.take(query, now_ns, build)
        self._generation, self._held = taken.generation, taken.held
        self.delivery.add(taken.rows)
        self._count(taken)
        return taken

    def _count(self, taken: Taken) -> None:
        name = self._bound.name
        telemetry.EXPORT_OPERATIONS.add(taken.operations - taken.replaced, name)
        telemetry.EXPORT_REPLACED.add(taken.replaced, name)
        telemetry.EXPORT_OVERFLOWED.add(self._guard.overflowed, name)
        telemetry.EXPORT_LATE.add(self._builder.late, name, self._bound.settings.late)
        self._guard.overflowed = self._builder.late = 0

    def _has_room(self) -> bool:
        return self.delivery.waiting_bytes < self._bound.settings.max_outbox_bytes

    def hurry(self) -> None:
        """Fold at the next tick, whatever the interval."""
        self._next_batch_ns = 0

    def look_again(self) -> None:
        """Compare the queue with the outbox at the next tick."""
        self._next_prune_ns = 0

    def tidy(self, now_ns: int) -> None:
        """Gauges, and now and then: delivered payloads deleted, drift measured."""
        name = self._bound.name
        telemetry.EXPORT_WAITING.set(self.delivery.waiting, name)
        telemetry.EXPORT_WAITING_BYTES.set(self.delivery.waiting_bytes, name)
        telemetry.EXPORT_WINDOW_SECONDS.set(self.window_seconds, name)
        if now_ns >= self._next_prune_ns:
            self.delivery.sync(self._outbox.open_rows(name))
            self._outbox.prune(name, self._bound.settings.max_dead_bytes, now_ns)
            self._next_prune_ns = now_ns + _PRUNE_NS
        if now_ns >= self._next_drift_ns:
            drift = self._outbox.drift(name)
            telemetry.EXPORT_DRIFT_OPERATIONS.set(drift.moved, name)
            telemetry.EXPORT_DRIFT_TOKENS.set(drift.moved_tokens, name)
            telemetry.EXPORT_DUPLICATES.set(drift.duplicates, name)
            telemetry.EXPORT_CHANGED_TOKENS.set(drift.changed_tokens, name)
            telemetry.EXPORT_CHANGED_SECONDS.set(drift.changed_self_ns / SECOND_NS, name)
            self._next_drift_ns = now_ns + _DRIFT_NS

    def close(self, now_ns: int, deadline_seconds: float) -> None:
        """Record what came back, stop the threads, close the exporter."""
        self.delivery.pump_results(now_ns)
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._bound.exporter.close(deadline_seconds)


def _hold_rule(bound: BoundExporter) -> HoldRule:
    idle = bound.settle.idle
    return HoldRule(
        hold_ns=int(bound.settings.hold * SECOND_NS),
        idle_ns=int(idle * SECOND_NS),
        patience_ns=int(max(idle, _PARENT_SECONDS) * SECOND_NS),
    )


def _on_grid(seconds: float) -> int:
    """A window that is a multiple of 15 s, the grid on which times are unique."""
    return max(1, round(seconds / 15)) * 15 * SECOND_NS
