"""Spans and operations for store tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.model import Content, Kind, Operation, Span, Status
from whyflame.store.passed import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.store.dropped import Dropped
    from whyflame.store.marks import MarkRow
    from whyflame.store.settled import SettledWriter
    from whyflame.store.unsettled import Group

SECOND = 1_000_000_000
T0 = 1_780_000_000 * SECOND


def span(trace: int, number: int, **fields: Any) -> Span:
    """A model call; `number` orders it in its trace."""
    made = Span(
        tenant="",
        signal="span",
        trace_id=trace.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        parent_id=None,
        start_ns=T0 + number * SECOND,
        end_ns=T0 + (number + 1) * SECOND,
        name="chat gpt-5",
        kind=Kind.LLM,
        dialect="genai",
        scope="test",
        scope_version="1",
        service="svc",
        model="gpt-5",
        status=Status.OK,
        input_uncached=100,
        output_visible=10,
        attributes_count=5,
        received_ns=T0,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def operation(of: Span, **fields: Any) -> Operation:
    """A counted operation with the numbers of its span."""
    made = Operation(
        span=of,
        session=of.session or f"trace:{of.trace_id.hex()}",
        session_known=of.session is not None,
        kind=of.kind,
        counted=True,
        agent="coder",
        model=of.model,
        status=of.status,
        leaf="call gpt-5",
        input_uncached=of.input_uncached,
        cache_read=of.cache_read,
        output_visible=of.output_visible,
        wall_ns=SECOND,
        self_ns=SECOND,
        operations=1,
        path=("fix tests",),
        root="fix login",
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def write_settled(
    writer: SettledWriter,
    group: Group,
    operations: Sequence[Operation],
    marks: Sequence[MarkRow],
    now_ns: int,
) -> Dropped:
    """A generation with what a pass is said to have found about a group."""
    spans = group.spans or [operation.span for operation in operations]
    for one in sorted(spans, key=lambda span: span.span_key):
        group.last_keys[one.trace_key] = one.span_key
    return writer.write_passed(pack(group, operations, marks), now_ns)


__all__ = ["SECOND", "T0", "Content", "operation", "span", "write_settled"]
