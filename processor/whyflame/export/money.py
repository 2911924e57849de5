"""Whole micro-USD out of exact nano-USD, so that nothing is lost over time.

Backends store integers, and a call may cost less than one micro-USD. What a series has not been
paid yet is its carry, always less than two micro-USD. Each rounding also looks at the carries of
all series together: the sum over series that are pushed for the first time is the true sum, rounded
down, and it never strays from the true sum by two micro-USD, however many series there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NANO_PER_MICRO", "CostRounder", "spread"]

NANO_PER_MICRO = 1000


class CostRounder:
    """Rounds the cost of series after series.

    Args:
        carries: (tenant, series) -> nano-USD not pushed yet; negative when too much was.
    """

    def __init__(self, carries: dict[tuple[str, str], int]) -> None:
        self._carries = dict(carries)
        self._owed = sum(carries.values())
        self.changed: dict[tuple[str, str], int] = {}

    def round(self, key: tuple[str, str], nano: Sequence[int]) -> list[int]:
        """Micro-USD for every stack of a series; their sum is within one micro-USD of the cost."""
        total = sum(nano)
        due = self._carries.get(key, 0) + total
        micro = due // NANO_PER_MICRO
        wanted = (self._owed + total) // NANO_PER_MICRO
        highest = (due + NANO_PER_MICRO - 1) // NANO_PER_MICRO
        micro = max(0, min(max(wanted, micro - 1), highest)) if total > 0 else 0
        self._owed += total - micro * NANO_PER_MICRO
        rest = due - micro * NANO_PER_MICRO
        self._carries[key] = self.changed[key] = rest
        return spread(nano, micro)


def spread(nano: Sequence[int], micro: int) -> list[int]:
    """Integers that add up to `micro`, as near as possible to `nano` / 1000 (largest remainder)."""
    shares = [value // NANO_PER_MICRO for value in nano]
    missing = micro - sum(shares)
    paying = [index for index, value in enumerate(nano) if value > 0]
    order = sorted(paying, key=lambda index: (-(nano[index] % NANO_PER_MICRO), index))
    while missing > 0 and order:
        for index in order[:missing]:
            shares[index] += 1
        missing -= min(missing, len(order))
    for index in reversed(order):
        if missing >= 0:
            break
        if shares[index]:
            shares[index] -= 1
            missing += 1
    return shares
