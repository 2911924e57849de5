"""Clock skew between hosts: one shift per host pair, so that remote children fit their parents."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation, Span

__all__ = ["align_clocks", "count_skewed"]

Bounds = list[tuple[int, int]]


def align_clocks(
    operations: Sequence[Operation],
    parents: Sequence[int],
    order: Sequence[int],
    starts: list[int],
    ends: list[int],
) -> bool:
    """Shift `starts` and `ends` of spans below a host boundary, in place; False when none moved.

    A child that lies outside its parent on the same host is asynchronous work and stays. Across
    hosts it is a wrong clock: all children of one (parent host, child host) pair in one trace are
    moved by the same smallest amount, so that none is squeezed to nothing.
    """
    hosts = [_host(operation.span) for operation in operations]
    if len(set(hosts)) <= 1:
        return False
    remote = [
        (child, parent)
        for child, parent in enumerate(parents)
        if parent >= 0 and hosts[child] != hosts[parent]
    ]
    pairs: dict[tuple[str, str, bytes], Bounds] = {}
    for child, parent in remote:
        key = (hosts[parent], hosts[child], operations[child].span.trace_id)
        bounds = _bounds(starts, ends, parent, child)
        pairs.setdefault(key, []).append(bounds)
    shifts = {key: _shift(bounds) for key, bounds in pairs.items()}
    if not any(shifts.values()):
        return False
    moved = [0] * len(operations)
    for child in order:
        parent = parents[child]
        if parent >= 0:
            moved[child] = moved[parent]
            if hosts[child] != hosts[parent]:
                key = (hosts[parent], hosts[child], operations[child].span.trace_id)
                moved[child] += shifts[key]
    for position, shift in enumerate(moved):
        starts[position] += shift
        ends[position] += shift
    return True


def count_skewed(operations: Sequence[Operation]) -> int:
    """How many spans lie outside a parent on another host, as sent."""
    several = _on_several_hosts(operations)
    spans = {(span.trace_id, span.span_id): span for span in several}
    skewed = 0
    for span in several:
        if span.parent_id is None:
            continue
        parent = spans.get((span.trace_id, span.parent_id))
        if parent is not None and _host(parent) != _host(span):
            skewed += _is_outside(span, parent)
    return skewed


def _on_several_hosts(operations: Sequence[Operation]) -> list[Span]:
    """Spans of the traces that more than one host reported: mostly none."""
    hosts: dict[bytes, str] = {}
    mixed: set[bytes] = set()
    for operation in operations:
        span = operation.span
        host = span.host or span.instance or span.service
        if hosts.setdefault(span.trace_id, host) != host:
            mixed.add(span.trace_id)
    if not mixed:
        return []
    return [operation.span for operation in operations if operation.span.trace_id in mixed]


def _is_outside(span: Span, parent: Span) -> bool:
    if span.start_ns is None or parent.start_ns is None:
        return False
    if span.start_ns < parent.start_ns:
        return True
    return span.end_ns is not None and parent.end_ns is not None and span.end_ns > parent.end_ns


def _host(span: Span) -> str:
    return span.host or span.instance or span.service


def _bounds(starts: list[int], ends: list[int], parent: int, child: int) -> tuple[int, int]:
    """The shifts that put the child inside the parent; a longer child need only start inside."""
    lowest = starts[parent] - starts[child]
    highest = ends[parent] - ends[child]
    return lowest, highest if highest >= lowest else ends[parent] - starts[child]


def _shift(bounds: Bounds) -> int:
    lowest = max(low for low, _ in bounds)
    highest = min(high for _, high in bounds)
    if lowest <= highest:
        return min(max(0, lowest), highest)
    # The edges disagree (asynchronous work, drift): the middle one, which no outlier can move.
    return median_low([min(max(0, low), high) for low, high in bounds])
