"""What settled operations rest on, as counts that add up across groups."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.clocks import count_skewed
from whyflame.settle.cost import is_unpriced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.model import Operation

__all__ = ["Coverage", "add_coverage", "coverage"]

Coverage = dict[str, dict[str, int]]
"""Name -> label -> count."""

UNKNOWN_DIALECTS = frozenset({"", "unknown", "other"})


def coverage(operations: Sequence[Operation]) -> Coverage:
    """Count what the totals of one settle group rest on, and what the telemetry did not say."""
    found: dict[str, Counter[str]] = {}
    present = {(op.span.trace_id, op.span.span_id) for op in operations}
    for operation in operations:
        for name, label, amount in _facts(operation, present):
            found.setdefault(name, Counter())[label] += amount
    nameless = {op.session for op in operations if op.counted and not op.session_known}
    gaps = found.setdefault("gaps", Counter())
    gaps["sessions_without_id"] += len(nameless)
    gaps["clock_corrections"] += count_skewed(operations)
    return {name: dict(sorted(labels.items())) for name, labels in sorted(found.items())}


def add_coverage(parts: Iterable[Coverage]) -> Coverage:
    """The coverage of several groups together."""
    total: dict[str, Counter[str]] = {}
    for part in parts:
        for name, labels in part.items():
            total.setdefault(name, Counter()).update(labels)
    return {name: dict(sorted(labels.items())) for name, labels in sorted(total.items())}


def _facts(
    operation: Operation, present: set[tuple[bytes, bytes]]
) -> Iterable[tuple[str, str, int]]:
    span = operation.span
    if operation.counted:
        producer = f"{span.dialect} {span.scope} {span.scope_version}".strip()
        yield "operations_by_producer", producer, 1
        if operation.kind is Kind.LLM and not operation.has_usage:
            yield "gaps", "calls_without_usage", 1
        if is_unpriced(operation):
            yield "gaps", "unpriced_calls", 1
    elif operation.why is not None:
        name = "merged_views" if operation.same_as is not None else "not_counted"
        yield name, operation.why, 1
    if span.claimed_input is not None or span.claimed_output is not None:
        yield "claimed_by_agents", "spans", 1
        yield "claimed_by_agents", "input_tokens", span.claimed_input or 0
        yield "claimed_by_agents", "output_tokens", span.claimed_output or 0
    if span.parent_id is not None and (span.trace_id, span.parent_id) not in present:
        yield "gaps", "orphan_spans", 1
    for reason in span.dubious:
        yield "dubious_values", reason, 1
    if span.dialect in UNKNOWN_DIALECTS:
        yield "unknown_scopes", span.scope or "(none)", 1
