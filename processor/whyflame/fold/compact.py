"""A profile as a tree in columns: what the page draws from, a hundred thousand frames at once.

Nodes are in preorder, the widest child first, as in the SVG files, whose colours they share.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.fold.pair import BASE, TARGET
from whyflame.fold.palette import colour_of
from whyflame.fold.svg_tree import SvgTree, build_svg_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.fold.profile import Profile

__all__ = ["encode", "encode_pair"]

_EXACT = 1 << 53  # above it JavaScript's numbers round: such values travel as text


def encode(profile: Profile) -> bytes:
    """Every sample type's totals by node, the default one first, with its self values."""
    tree = build_svg_tree(profile, [profile.default])
    return _dump(_columns(tree, profile))


def encode_pair(pair: Profile, facts: Mapping[str, Any]) -> bytes:
    """Two profiles side by side, as `pair_profiles` gives them, with what a comparison found."""
    tree = build_svg_tree(pair, [BASE, TARGET])
    return _dump({**_columns(tree, pair), "comparison": facts})


def _columns(tree: SvgTree, profile: Profile) -> dict[str, Any]:
    return {
        "types": [{"name": item.name, "unit": item.unit} for item in tree.types],
        "names": tree.names,
        "colours": [colour_of(name) for name in tree.names],
        "name": tree.name,
        "depth": tree.depth,
        "totals": [_numbers(column) for column in tree.totals],
        "selfs": _numbers(tree.selfs),
        "left_out": tree.left_out,
        "time_ns": str(profile.time_ns),
        "duration_ns": str(profile.duration_ns),
    }


def _numbers(values: list[int]) -> list[int | str]:
    return [value if abs(value) < _EXACT else str(value) for value in values]


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
