"""Cost of a call: the producer's figure, else the user's prices, else the shipped ones, else None."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.model import Kind
from whyflame.settle.prices import find_price
from whyflame.settle.shipped_prices import ShippedPrices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.model import Operation
    from whyflame.settle.prices import Price

__all__ = ["Pricing"]


@dataclass(slots=True)
class Pricing:
    """Prices calls whose producer reports no cost.

    Attributes:
        own: The user's prices, looked at first.
        shipped: Prices that come with the installation; None switches them off.
    """

    own: Sequence[Price] = ()
    shipped: ShippedPrices | None = field(default_factory=ShippedPrices)

    def assign_costs(self, operations: Iterable[Operation]) -> None:
        """Write `cost_nanousd` of the counted calls that have tokens and no figure yet."""
        for operation in operations:
            if operation.cost_nanousd is None and operation.counted and _is_billed(operation):
                operation.cost_nanousd = self._price(operation)

    def _price(self, operation: Operation) -> int | None:
        model = operation.model
        if model is None:
            return None
        span = operation.span
        time_ns = span.start_ns or span.end_ns or span.received_ns
        rates = find_price(self.own, model, operation.provider, time_ns) if self.own else None
        if rates is None and self.shipped is not None:
            tokens = (
                (operation.input_uncached or 0)
                + (operation.cache_read or 0)
                + (operation.cache_write or 0)
            )
            rates = self.shipped.find(model, operation.provider, time_ns, tokens)
        return None if rates is None else rates.cost(operation)


def _is_billed(operation: Operation) -> bool:
    """Both sides of a model call must be known: half a price would look like a whole one."""
    has_input = operation.input_uncached is not None or operation.cache_read is not None
    if operation.kind is Kind.EMBED:
        return has_input
    if operation.kind is not Kind.LLM:
        return False
    return has_input and (operation.output_visible is not None or operation.reasoning is not None)
