"""The periodic pass: quiet or long-held runs are settled, segmented and written as a generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from whyflame import telemetry
from whyflame.settle.work import Found, Segment, Settle, work_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.config import SettleConfig
    from whyflame.store.settled import SettledWriter
    from whyflame.store.span_rows import SpanRows
    from whyflame.store.unsettled import Group, Unsettled

__all__ = ["Elsewhere", "SettleJob"]

SECOND_NS = 1_000_000_000


class Elsewhere(Protocol):
    """Another process that works out passes."""

    def accepts(self, spans: int) -> bool:
        """Whether it is worth the way for so many."""
        ...

    def work_out(self, group: Group, rows: SpanRows) -> Found:
        """As `settle.work.work_out`; after an error the group is still unsettled."""
        ...


@dataclass(slots=True)
class Settled:
    """What one tick did.

    Attributes:
        traces, operations: Written.
        dropped: Spans found to be no agent work. dropped_again: Those that had come before.
    """

    traces: int = 0
    operations: int = 0
    dropped: int = 0
    dropped_again: int = 0

    def add(self, other: Settled) -> None:
        """Count what another group came to as well."""
        self.traces += other.traces
        self.operations += other.operations
        self.dropped += other.dropped
        self.dropped_again += other.dropped_again


class SettleJob:
    """Settles what is ready; one thread.

    Args:
        unsettled: Where waiting traces are found. writer: Where generations go.
        settle: Tree rules. segment: The next stage, called before a generation is written.
        config: When a run is ready. clock_ns: Now, in nanoseconds.
        elsewhere: Takes large passes; None works all of them out here.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - a stage with its neighbours
        self,
        unsettled: Unsettled,
        writer: SettledWriter,
        settle: Settle,
        segment: Segment,
        config: SettleConfig,
        clock_ns: Callable[[], int],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._unsettled = unsettled
        self._writer = writer
        self._settle = settle
        self._segment = segment
        self._config = config
        self._idle_ns = int(config.idle * SECOND_NS)
        self._hold_ns = int(config.max_hold * SECOND_NS)
        self._clock_ns = clock_ns
        self._elsewhere = elsewhere

    def with_segment(self, segment: Segment) -> SettleJob:
        """The same job with another next stage."""
        return SettleJob(
            self._unsettled, self._writer, self._settle, segment, self._config, self._clock_ns
        )

    def tick(
        self, *, everything: bool = False, should_stop: Callable[[], bool] = lambda: False
    ) -> Settled:
        """Settle all that is ready now.

        Args:
            everything: Settle all waiting traces, however fresh (commands, tests, shutdown).
            should_stop: Asked before each group; what is left stays for the next time.
        """
        done = Settled()
        idle, hold = (0, 0) if everything else (self._idle_ns, self._hold_ns)
        while not should_stop():
            now = self._clock_ns()
            taken = self._unsettled.take_ready(now, idle_ns=idle, hold_ns=hold)
            if not taken:
                return done
            try:
                group = self._unsettled.find(taken)
                written = self._write(group, self._work_out(group), now)
            except BaseException:
                self._unsettled.put_back(taken)
                raise
            done.add(written)
        return done

    def settle_group(self, group: Group, now_ns: int) -> int:
        """Settle, segment and write one group that was loaded; how many operations there were."""
        return self._write(group, work_out(group, self._settle, self._segment), now_ns).operations

    def _work_out(self, group: Group) -> Found:
        """The pass, here or elsewhere, over the spans of a group that was found."""
        rows = self._unsettled.rows(group)
        if self._elsewhere is not None and self._elsewhere.accepts(len(rows)):
            return self._elsewhere.work_out(group, rows)
        group.take(rows)
        return work_out(group, self._settle, self._segment)

    def _write(self, group: Group, found: Found, now_ns: int) -> Settled:
        dropped = self._writer.write_passed(found.passed, now_ns)
        telemetry.SETTLED_OPERATIONS.add(found.passed.operations)
        telemetry.SETTLED_TRACES.add(len(group.trace_keys))
        telemetry.CLOCK_CORRECTIONS.add(found.skewed)
        if dropped.new:
            telemetry.DROPPED_SPANS.add(dropped.new, "not_agent_work")
        telemetry.REPEATED_SPANS.add(dropped.again)
        return Settled(len(group.trace_keys), found.passed.operations, *dropped)
