"""The numbers of a call seen several times: from the view nearest to the wire, gaps from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.model import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whyflame.model import Operation, Span

__all__ = ["fill_numbers", "take_numbers", "take_sizes"]


def fill_numbers(operation: Operation, views: Sequence[Span]) -> None:
    """Sets the parts, cost and names of a counted call from its views, outermost first."""
    order = sorted(range(len(views)), key=lambda at: (-views[at].wire, -at))
    reporting = [views[at] for at in order if views[at].has_usage]
    if reporting:
        take_numbers(operation, reporting[0])
        for other in reporting[1:]:
            _fill_gaps(operation, other)
    operation.cost_nanousd = next(
        (view.cost_nanousd for view in (*reporting, *views) if view.cost_nanousd is not None), None
    )
    named = [views[at] for at in order]
    operation.model = next((view.model for view in named if view.model), None)
    operation.provider = next((view.provider for view in named if view.provider), None)


def take_numbers(operation: Operation, source: Span) -> None:
    """The parts and the cost as one view reports them."""
    operation.input_uncached = source.input_uncached
    operation.cache_read = source.cache_read
    operation.cache_write = source.cache_write
    operation.output_visible = source.output_visible
    operation.reasoning = source.reasoning
    operation.cost_nanousd = source.cost_nanousd


def take_sizes(operation: Operation, view: Span) -> None:
    """Bytes of the texts that one view tells, where no view before it did."""
    content = view.content
    if content is None:
        return
    if operation.kind is Kind.TOOL:
        sent, received = content.arguments_bytes, content.result_bytes
    else:
        sent, received = content.prompt_bytes, content.response_bytes
    if operation.input_bytes is None:
        operation.input_bytes = sent
    if operation.output_bytes is None:
        operation.output_bytes = received


def _input(view: Span | Operation) -> int | None:
    if view.input_uncached is None:
        return None
    return view.input_uncached + (view.cache_read or 0) + (view.cache_write or 0)


def _output(view: Span | Operation) -> int | None:
    return None if view.output_visible is None else view.output_visible + (view.reasoning or 0)


def _fill_gaps(operation: Operation, other: Span) -> None:
    """Parts that the nearest view does not report, when the totals of both views are equal."""
    if _input(operation) == _input(other):
        for part in ("cache_read", "cache_write"):
            _fill_part(operation, other, part, "input_uncached")
    if _output(operation) == _output(other):
        _fill_part(operation, other, "reasoning", "output_visible")


def _fill_part(operation: Operation, other: Span, part: str, rest: str) -> None:
    """Moves a known part out of the rest that held it."""
    known, left = getattr(other, part), getattr(operation, rest)
    if known is None or getattr(operation, part) is not None or left is None or known > left:
        return
    setattr(operation, part, known)
    setattr(operation, rest, left - known)
