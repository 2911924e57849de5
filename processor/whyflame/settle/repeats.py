"""Equal spans with different ids: one call that its producer wrote down twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whyflame.settle.views import CALLS

if TYPE_CHECKING:
    from whyflame.model import Span
    from whyflame.settle.ledger import Ledger

__all__ = ["merge_equal_spans", "usage_key"]


def usage_key(span: Span) -> tuple[int | None, ...]:
    """The five parts as reported."""
    return (
        span.input_uncached,
        span.cache_read,
        span.cache_write,
        span.output_visible,
        span.reasoning,
    )


def merge_equal_spans(ledger: Ledger) -> None:
    """Calls equal in trace, parent, both times to the nanosecond, name, scope and usage."""
    first: dict[tuple[object, ...], int] = {}
    for index in _equal_times(ledger):
        span = ledger.spans[index]
        if not (span.has_usage and _is_timed(span)):
            continue
        key = (span.trace_id, span.parent_id, span.start_ns, span.end_ns, span.name)
        original = first.setdefault(key, index)
        if original != index and _is_equal(ledger.spans[original], span):
            ledger.merge(original, index, "repeated")


def _equal_times(ledger: Ledger) -> list[int]:
    """Open calls with both times of another one in their trace, in order of start: mostly none."""
    spans, calls = ledger.spans, ledger.open_of(CALLS)
    own = [spans[index] for index in calls]
    times = [(span.trace_id, span.start_ns, span.end_ns) for span in own]
    if len(set(times)) == len(calls):
        return []
    counts = Counter(times)
    equal = [index for index, time in zip(calls, times, strict=True) if counts[time] > 1]
    return ledger.forest.in_order(equal)


def _is_equal(left: Span, right: Span) -> bool:
    places = [(span.tenant, span.service, span.instance, span.scope) for span in (left, right)]
    return places[0] == places[1] and usage_key(left) == usage_key(right)


def _is_timed(span: Span) -> bool:
    return span.start_ns is not None and span.end_ns is not None and span.end_ns > span.start_ns
