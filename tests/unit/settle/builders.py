"""Hand-made operations: a small language for span trees in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.model import Kind, Operation, Span, Status
from whyflame.settle.structure import arrange

if TYPE_CHECKING:
    from collections.abc import Iterable

HOUR = 3_600_000_000_000
GAP = 4 * HOUR

SPAN_FIELDS = frozenset(Span.__dataclass_fields__) - {"kind", "start_ns", "end_ns"}
ON_BOTH = (
    "agent", "model", "tool", "status", "provider", "cost_nanousd", "input_uncached", "cache_read",
    "cache_write", "output_visible", "reasoning",
)  # fmt: skip
KINDS = {
    "llm": Kind.LLM,
    "tool": Kind.TOOL,
    "agent": Kind.AGENT,
    "control": Kind.CONTROL,
    "embed": Kind.EMBED,
    "prompt": Kind.PROMPT,
    "file": Kind.FILE,
    "network": Kind.NETWORK,
    "process": Kind.PROCESS,
    "wrap": Kind.OTHER,
}


class Trace:
    """Builds the operations of one trace; ids are short texts."""

    def __init__(self, name: str = "t", session: str = "s") -> None:
        self.trace_id = name.encode().ljust(16, b"\0")
        self.session = session
        self.made: dict[str, Operation] = {}

    def add(
        self,
        what: str,
        start: int | None,
        end: int | None,
        under: str | None = None,
        **fields: Any,
    ) -> Operation:
        """Add `kind:id`; `wrap` is not counted, everything else is. Returns the operation."""
        kind_name, _, name = what.partition(":")
        kind = KINDS[kind_name]
        on_span = {key: fields.pop(key) for key in list(fields) if key in SPAN_FIELDS}
        for key in ON_BOTH:
            if key in on_span:
                fields[key] = on_span[key]
        span = Span(
            tenant="",
            signal="span",
            trace_id=self.trace_id,
            span_id=span_id(name),
            parent_id=None if under is None else span_id(under),
            start_ns=start,
            end_ns=end,
            name=on_span.pop("name", name),
            kind=kind,
            dialect="test",
            **on_span,
        )
        counted = fields.pop("counted", kind_name != "wrap")
        operation = Operation(
            span=span,
            session=self.session,
            session_known=True,
            kind=kind,
            counted=counted,
            **fields,
        )
        self.made[name] = operation
        return operation


def span_id(name: str) -> bytes:
    """Span id of a short name."""
    return name.encode().ljust(8, b"\0")[:8]


def settle_made(*traces: Trace, gap_ns: int = GAP, **earlier: int) -> dict[str, Operation]:
    """Arrange all operations of the traces; by name, later traces win."""
    operations = [operation for trace in traces for operation in trace.made.values()]
    arrange(operations, gap_ns, earlier)
    return {name: operation for trace in traces for name, operation in trace.made.items()}


def places(operations: Iterable[Operation]) -> list[tuple[Any, ...]]:
    """All that structure decides, in a form that does not depend on order."""
    return sorted(
        (
            operation.span.trace_id, operation.span.span_id, operation.session, operation.run,
            operation.lane, operation.lane_parent or "", operation.lane_parent_step or -1,
            operation.turn, -1 if operation.step is None else operation.step, operation.seq,
            -1 if operation.self_ns is None else operation.self_ns, operation.outcome or "",
        )
        for operation in operations
    )  # fmt: skip


OK = Status.OK
ERROR = Status.ERROR
