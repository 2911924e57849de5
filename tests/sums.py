"""Sums over operations in plain Python, to hold against rows of `totals`: unknown stays None."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyflame.model import Operation

__all__ = ["sum_operations"]


def _sum(operations: list[Operation], *parts: str) -> int | None:
    """Sum of the known parts; None when no operation reports any of them."""
    values = [getattr(operation, part) for operation in operations for part in parts]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sum_operations(operations: Iterable[Operation]) -> dict[str, int | float | None]:
    """The sums of the counted operations, keyed like a row of `totals`."""
    counted = [operation for operation in operations if operation.counted]
    calls = [operation for operation in counted if operation.kind is Kind.LLM]
    tools = [operation for operation in counted if operation.kind is Kind.TOOL]
    cost = _sum(counted, "cost_nanousd")
    return {
        "llm_calls": len(calls),
        "llm_errors": sum(operation.errors for operation in calls),
        "embedding_calls": sum(1 for operation in counted if operation.kind is Kind.EMBED),
        "tool_calls": len(tools),
        "tool_errors": sum(operation.errors for operation in tools),
        "input_tokens": _sum(counted, "input_uncached", "cache_read", "cache_write"),
        "output_tokens": _sum(counted, "output_visible", "reasoning"),
        "cache_read_tokens": _sum(counted, "cache_read"),
        "cache_write_tokens": _sum(counted, "cache_write"),
        "reasoning_tokens": _sum(counted, "reasoning"),
        "calls_without_usage": sum(1 for operation in calls if not operation.has_usage),
        "cost_usd": None if cost is None else cost / 1e9,
    }
