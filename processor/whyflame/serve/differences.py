"""Comparisons in the formats that users ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyflame.fold.compare import Comparison
    from whyflame.fold.profile import Profile

__all__ = ["DIFF_ENCODINGS", "UNITS", "encode_diff"]

DIFF_ENCODINGS = {
    "table": "text/plain; charset=utf-8",
    "json": "application/json",
    "pprof": "application/octet-stream",
    "svg": "image/svg+xml",
    "tree": "application/json",
}
"""Formats of a comparison and their media types."""

UNITS = {"run": ("session", "run"), "session": ("session",)}
"""Labels that tell one unit of observation from the next."""


def encode_diff(encoding: str, base: Profile, target: Profile, compared: Comparison) -> bytes:
    """One comparison as bytes.

    In a pprof file the base is scaled to as many units as the target has, so that the two compare.
    """
    # They need numpy, which a cold question about one profile must not pay for.
    from whyflame.fold import compact, diff
    from whyflame.fold.compare import format_table
    from whyflame.fold.pair import pair_profiles

    if encoding == "table":
        return format_table(compared).encode()
    if encoding == "json":
        return _json(compared)
    if encoding == "tree":
        return compact.encode_pair(pair_profiles(base, target, compared.measure), _facts(compared))
    if encoding == "svg":
        return diff.encode_svg(base, target, compared.measure)
    scaled = diff.scale_profile(base, compared.target_units, compared.base_units)
    return diff.encode_pprof(scaled, target)


def _json(compared: Comparison) -> bytes:
    return json.dumps(_facts(compared), ensure_ascii=False).encode()


def _facts(compared: Comparison) -> dict[str, object]:
    frames = [
        {
            "frame": row.frame,
            "base": row.base,
            "target": row.target,
            "change": row.change,
            "low": row.low,
            "high": row.high,
            "may_be_noise": row.may_be_noise,
        }
        for row in compared.rows
    ]
    return {
        "measure": compared.measure,
        "unit": compared.unit,
        "base_units": compared.base_units,
        "target_units": compared.target_units,
        "pairs": compared.pairs,
        "frames": frames,
    }
