"""How much of what is exported while a run grows has another path when it ends.

    python bench/segmentation/drift.py --bench ../shared/bench

Runs of the public sets are replayed in pieces (`growing.py`): with a pause of minutes after each, so
that all of it is exported, and without a pause. Beside the rule as it is (exported steps keep their
path), what would move without it. Shares are of steps. Tables for docs/segmentation.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from growing import grow

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.trajectories import lane_of, read_trajectories

SOURCES = ("claude_code_todo", "tau_bench_airline", "who_and_when")
PIECES = (5, 10, 15, 30)
RULES = (
    ("pauses", {"pauses": True}),
    ("pauses, nothing kept", {"pauses": True, "keeps": False}),
    ("no pauses", {"pauses": False}),
    ("no pauses, nothing kept", {"pauses": False, "keeps": False}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    options = parser.parse_args()
    segmenter = AutoSegmenter(SegmentConfig())
    print("| exported early, moved; pieces of |" + "".join(f" {piece} |" for piece in PIECES))
    print("|---|" + "---|" * len(PIECES))
    for source in SOURCES:
        path = options.bench / "trajectories" / f"{source}.jsonl.gz"
        lanes = [lane_of(record) for record in read_trajectories(path)]
        for name, rule in RULES:
            cells = []
            for piece in PIECES:
                grown = grow(lanes, piece, segmenter, **rule)
                steps = sum(one.steps for one in grown)
                early, moved = sum(one.early for one in grown), sum(one.moved for one in grown)
                cells.append(f" {early / steps:.2f}, {moved / steps:.3f} |")
            print(f"| {source}: {name} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
