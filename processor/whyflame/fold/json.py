"""whyflame's own JSON: every measure exactly, cost in nano-USD."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["encode"]


def encode(profile: Profile) -> bytes:
    """A document with sample types, totals and stacks, documented in docs/profiles.md."""
    document = {
        "version": 1,
        "sample_types": [{"name": item.name, "unit": item.unit} for item in profile.sample_types],
        "default": profile.default,
        "time_ns": profile.time_ns,
        "duration_ns": profile.duration_ns,
        "comments": list(profile.comments),
        "totals": profile.totals(),
        "stacks": [_stack(row) for row in profile.stacks()],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _stack(row: tuple[tuple[str, ...], tuple[tuple[str, str], ...], tuple[int, ...]]) -> object:
    frames, labels, values = row
    labelled = {"labels": dict(labels)} if labels else {}
    return {"frames": frames, "values": values, **labelled}
