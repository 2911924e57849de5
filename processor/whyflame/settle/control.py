"""Tools that change who works, or end the work, without doing any."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_control"]

_ENDINGS = frozenset({"final_answer", "final_result", "finish", "finalanswertool"})
_HAND_OVERS = re.compile(r"^(?:transfer|hand_?off|delegate)(?:_|$)")
_WORD_BREAKS = re.compile(r"[^0-9a-z]+")


@lru_cache(maxsize=4_096)
def is_control(tool: str | None) -> bool:
    """True for hand-offs, delegations and final answers, by the tool's name."""
    if not tool:
        return False
    name = _WORD_BREAKS.sub("_", tool.lower()).strip("_")
    if name in _ENDINGS:
        return True
    if name.startswith("transfer") and not name.startswith("transfer_to"):
        return False
    return _HAND_OVERS.match(name) is not None
