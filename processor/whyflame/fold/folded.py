"""Folded text: `root;child;leaf 42`, a line per stack, read by every flame graph tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.fold.cost import in_micro_usd

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["encode"]


def encode(profile: Profile, measure: str | None = None) -> bytes:
    """One measure, by default the one that width shows; cost in micro-USD.

    A `;` inside a frame, which would begin another one, becomes `:`. Stacks without width are left
    out; equal lines, from samples that differ in labels only, are added.
    """
    profile, _ = in_micro_usd(profile)
    widths: dict[str, int] = {}
    for (stack, _, _), width in zip(
        profile.stacks(), profile.column(measure or profile.default), strict=True
    ):
        line = ";".join(frame.replace(";", ":") for frame in stack)
        widths[line] = widths.get(line, 0) + width
    return "".join(f"{line} {width}\n" for line, width in widths.items() if width).encode()
