"""Python's garbage collector in processes that handle many records."""

from __future__ import annotations

import gc

__all__ = ["calm_collector"]

ALLOCATIONS = 50_000


def calm_collector(allocations: int = ALLOCATIONS) -> None:
    """Records hold no cycles: look for them rarely, and never among what the start left behind.

    Args:
        allocations: So many containers more than were freed begin a look.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(allocations, 20, 50)
