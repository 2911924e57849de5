"""Files as they were when they were last looked at. `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.fold_strategies import profile_of

from whyflame.fold import diff, folded, json, pprof, speedscope, svg

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.fold.profile import Profile

EXAMPLE = replace(
    profile_of(
        [
            (
                ("coder", "fix login", "inspect source", "call gpt-5"),
                (("model", "gpt-5"),),
                (3, 41_234_567, 9_250_000_000, 40_400),
            ),
            (("coder", "fix login", "inspect source", "run bash"), (), (2, 0, 7_000_000_000, 0)),
            (("coder", "fix login", "call gpt-5"), (), (1, 5_000_500, 1_000_000_000, 9_000)),
            (("coder", "run tests", "call gpt-5 (<&>;)"), (), (1, 500, 1, 300)),
            (("writer", "report result", "call gpt-5"), (), (1, 2_000, 1_500, 12_000)),
        ]
    ),
    time_ns=1_795_000_000_000_000_000,
    duration_ns=90_000_000_000,
    comments=("whyflame", "view tokens"),
)
LATER = profile_of(
    [
        (("coder", "fix login", "call gpt-5"), (), (1, 900, 2, 90_000)),
        (("coder", "run tests", "run bash"), (), (4, 0, 2, 1)),
    ]
)


def without_assets(data: bytes) -> bytes:
    text = data.decode()
    for asset in ("flame.css", "flame.js"):
        content = svg._asset(asset)
        assert content in text
        text = text.replace(content, f"[{asset}]")
    return text.encode()


def files(profile: Profile) -> dict[str, bytes]:
    return {
        "example.pb": pprof.encode_message(profile),
        "example.folded": folded.encode(profile),
        "example.json": json.encode(profile),
        "example.speedscope.json": speedscope.encode(profile),
        "example.svg": without_assets(svg.encode(profile)),
        "cost.svg": without_assets(svg.encode(profile, "cost")),
        "diff.svg": without_assets(diff.encode_svg(profile, LATER, names=("ok", "failed"))),
    }


@pytest.mark.parametrize("name", list(files(EXAMPLE)))
def test_files_are_as_they_were(name: str, root: Path) -> None:
    golden = root / "tests" / "golden" / "fold" / name
    written = files(EXAMPLE)[name]
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(written)
    assert written == golden.read_bytes()
