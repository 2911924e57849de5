"""Price rates per token part, in integers, so that sums of costs are exact."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.model import Operation

__all__ = ["Rates"]

# A rate of 1 USD per million tokens is 1,000 nano-USD, 1,000,000,000 femto-USD * 10^-6 a token:
# rates are kept in millionths of a nano-USD, which holds every published price exactly.
UNITS_PER_NANO = 1_000_000
UNITS_PER_USD_PER_MILLION = 1_000 * UNITS_PER_NANO


@dataclass(frozen=True, slots=True)
class Rates:
    """Price of one token of each part, in millionths of a nano-USD."""

    input_uncached: int
    cache_read: int
    cache_write: int
    output_visible: int
    reasoning: int

    @staticmethod
    def from_usd_per_million(rate: float | Decimal) -> int:
        """A published rate as an integer."""
        return int((Decimal(str(rate)) * UNITS_PER_USD_PER_MILLION).to_integral_value())

    def cost(self, operation: Operation) -> int:
        """Nano-USD of a call; parts that are unknown add nothing."""
        units = (
            (operation.input_uncached or 0) * self.input_uncached
            + (operation.cache_read or 0) * self.cache_read
            + (operation.cache_write or 0) * self.cache_write
            + (operation.output_visible or 0) * self.output_visible
            + (operation.reasoning or 0) * self.reasoning
        )
        return (units + UNITS_PER_NANO // 2) // UNITS_PER_NANO
