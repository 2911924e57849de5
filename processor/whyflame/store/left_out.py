"""Which values are stored though they are not held in memory: 8 bytes each.

A module of its own, imported where there are such values: cold commands do without numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

__all__ = ["LeftOut"]


class LeftOut:
    """Hashes of values, as the database makes them."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, np.uint64)

    def add(self, hashes: Hashes) -> None:
        """Remember these."""
        # Sorting all of them again would cost more with every value ever stored.
        hashes = np.unique(hashes)
        self._sorted = np.insert(self._sorted, np.searchsorted(self._sorted, hashes), hashes)

    def may_hold(self, hashes: Hashes) -> NDArray[np.bool_]:
        """By hash, whether a value with it was left out; False is certain."""
        if not len(self._sorted):
            return np.zeros(len(hashes), np.bool_)
        places = np.searchsorted(self._sorted, hashes)
        found: NDArray[np.bool_] = np.take(self._sorted, places, mode="clip") == hashes
        return found
