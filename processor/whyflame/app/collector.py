"""Python's garbage collector in processes that handle many records."""

from __future__ import annotations

import gc

__all__ = ["calm_collector"]


def calm_collector() -> None:
    """Records hold no cycles: look for them rarely, and never among what the start left behind."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
