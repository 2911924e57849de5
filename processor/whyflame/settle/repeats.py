"""Equal spans with different ids: one call that its producer wrote down twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.settle.views import is_call

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
    for index in ledger.forest.by_start():
        span = ledger.spans[index]
        if not (ledger.is_open(index) and is_call(span) and span.has_usage and _is_timed(span)):
            continue
        key = (span.trace_id, span.parent_id, span.start_ns, span.end_ns, span.name)
        original = first.setdefault(key, index)
        if original != index and _is_equal(ledger.spans[original], span):
            ledger.merge(original, index, "repeated")


def _is_equal(left: Span, right: Span) -> bool:
    places = [(span.tenant, span.service, span.instance, span.scope) for span in (left, right)]
    return places[0] == places[1] and usage_key(left) == usage_key(right)


def _is_timed(span: Span) -> bool:
    return span.start_ns is not None and span.end_ns is not None and span.end_ns > span.start_ns
