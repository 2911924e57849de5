"""The periodic pass: quiet or long-held runs are settled, segmented and written as a generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.model import Operation, Span
from whyflame.settle.clocks import count_skewed
from whyflame.store.marks import MarkRow

if TYPE_CHECKING:
    from whyflame.config import SettleConfig
    from whyflame.store.settled import SettledWriter
    from whyflame.store.unsettled import Group, Unsettled

__all__ = ["Segment", "Settle", "SettleJob"]

SECOND_NS = 1_000_000_000


Settle = Callable[[Sequence[Span], Mapping[str, int]], list[Operation]]
"""Tree rules over everything one pass sees of one tenant; with the runs that lie before, by session."""

Segment = Callable[[Sequence[Operation]], list[MarkRow]]
"""Fills `root` and `path` of the operations and returns the marks behind them."""


@dataclass(slots=True)
class Settled:
    """What one tick did: traces and operations written."""

    traces: int = 0
    operations: int = 0


class SettleJob:
    """Settles what is ready; one thread.

    Args:
        unsettled: Where waiting traces are found. writer: Where generations go.
        settle: Tree rules. segment: The next stage, called before a generation is written.
        config: When a run is ready. clock_ns: Now, in nanoseconds.
    """

    def __init__(
        self,
        unsettled: Unsettled,
        writer: SettledWriter,
        settle: Settle,
        segment: Segment,
        config: SettleConfig,
        clock_ns: Callable[[], int],
    ) -> None:
        self._unsettled = unsettled
        self._writer = writer
        self._settle = settle
        self._segment = segment
        self._config = config
        self._idle_ns = int(config.idle * SECOND_NS)
        self._hold_ns = int(config.max_hold * SECOND_NS)
        self._clock_ns = clock_ns

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
                group = self._unsettled.load(taken)
                operations = self.settle_group(group, now)
            except BaseException:
                self._unsettled.put_back(taken)
                raise
            done.traces += len(group.trace_keys)
            done.operations += len(operations)
        return done

    def settle_group(self, group: Group, now_ns: int) -> list[Operation]:
        """Settle, segment and write one group."""
        operations: list[Operation] = []
        for tenant, spans in _by_tenant(group.spans).items():
            earlier = {
                session: runs
                for (owner, session), runs in group.earlier_runs.items()
                if owner == tenant
            }
            operations.extend(self._settle(spans, earlier))
        marks = self._segment(operations)
        dropped = self._writer.write(group, operations, marks, now_ns)
        telemetry.SETTLED_OPERATIONS.add(len(operations))
        telemetry.SETTLED_TRACES.add(len(group.trace_keys))
        telemetry.CLOCK_CORRECTIONS.add(count_skewed(operations))
        if dropped:
            telemetry.DROPPED_SPANS.add(dropped, "not_agent_work")
        return operations


def _by_tenant(spans: Sequence[Span]) -> dict[str, list[Span]]:
    tenants: dict[str, list[Span]] = {}
    for span in spans:
        tenants.setdefault(span.tenant, []).append(span)
    return tenants
