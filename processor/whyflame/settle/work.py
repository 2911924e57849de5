"""One settle pass as a function of what was read: the same here and in the worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.model import Operation, Span
from whyflame.settle.clocks import count_skewed
from whyflame.store.marks import MarkRow
from whyflame.store.passed import Passed, pack

if TYPE_CHECKING:
    from whyflame.store.unsettled import Group

__all__ = ["Found", "Segment", "Settle", "work_out"]

Settle = Callable[[Sequence[Span], Mapping[str, int]], list[Operation]]
"""Tree rules over everything one pass sees of one tenant; with the runs that lie before, by session."""

Segment = Callable[[Sequence[Operation]], list[MarkRow]]
"""Fills `root` and `path` of the operations and returns the marks behind them."""


@dataclass(slots=True)
class Found:
    """What a pass found.

    Attributes:
        passed: What is written. skewed: Spans whose clock was corrected.
    """

    passed: Passed
    skewed: int


def work_out(group: Group, settle: Settle, segment: Segment) -> Found:
    """Settle and segment a group whose spans were loaded."""
    operations: list[Operation] = []
    for tenant, spans in _by_tenant(group.spans).items():
        earlier = {
            session: runs
            for (owner, session), runs in group.earlier_runs.items()
            if owner == tenant
        }
        operations.extend(settle(spans, earlier))
    marks = segment(operations)
    return Found(pack(group, operations, marks), count_skewed(operations))


def _by_tenant(spans: Sequence[Span]) -> dict[str, list[Span]]:
    tenants: dict[str, list[Span]] = {}
    for span in spans:
        tenants.setdefault(span.tenant, []).append(span)
    return tenants
