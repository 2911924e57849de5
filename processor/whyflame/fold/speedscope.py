"""speedscope's JSON file format: one sampled profile per measure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whyflame.fold.cost import in_micro_usd

if TYPE_CHECKING:
    from whyflame.fold.profile import Profile

__all__ = ["encode"]

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"nanoseconds": "nanoseconds", "bytes": "bytes"}  # speedscope knows no others of ours


def encode(profile: Profile, name: str = "whyflame") -> bytes:
    """Every measure of the profile, the one that width shows first."""
    profile, _ = in_micro_usd(profile)
    samples = [
        list(profile.frame_ids[start:end])
        for start, end in zip(profile.offsets, profile.offsets[1:], strict=False)
    ]
    names = [item.name for item in profile.sample_types]
    document = {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "whyflame",
        "activeProfileIndex": names.index(profile.default),
        "shared": {"frames": [{"name": frame} for frame in profile.frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": f"{item.name} ({item.unit})",
                "unit": _UNITS.get(item.unit, "none"),
                "startValue": 0,
                "endValue": sum(values),
                "samples": samples,
                "weights": list(values),
            }
            for item, values in zip(profile.sample_types, profile.values, strict=True)
        ],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
