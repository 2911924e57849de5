"""How much of what is exported while a run grows has another path when it ends.

    python bench/segmentation/drift.py --bench ../shared/bench

Runs of the public sets are replayed in pieces; after each piece the lane is segmented, and a step is
exported when as many versions in a row as the exporter asks for gave it the same path; the rest goes
at the end. Shares are of steps. A table for docs/segmentation.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from whyflame.config import SegmentConfig
from whyflame.segment import Lane
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.trajectories import lane_of, read_trajectories
from whyflame.store.outbox_hold import AGREEING

SOURCES = ("claude_code_todo", "tau_bench_airline", "who_and_when")
PIECES = (5, 10, 15, 30)


def paths_of(marks: list, steps: int) -> list:
    at, path, found = {mark.step: mark.path for mark in marks}, (), []
    for step in range(steps):
        path = at.get(step, path)
        found.append(path)
    return found


def replay(lane: Lane, piece: int, segmenter: AutoSegmenter) -> tuple[int, int, int]:
    """Steps, steps exported before the end, and how many of these moved."""
    steps = len(lane.steps)
    ends = [*range(piece, steps, piece), steps]
    parts = [Lane(request=lane.request, steps=lane.steps[:end]) for end in ends]
    versions = [
        paths_of(marks, end) for end, marks in zip(ends, segmenter.segment_many(parts), strict=True)
    ]
    exported: dict[int, tuple] = {}
    for newest in range(AGREEING, len(versions)):
        recent = versions[newest - AGREEING : newest]
        for step, paths in enumerate(zip(*recent, strict=False)):
            if len(set(paths)) == 1:
                exported.setdefault(step, paths[0])
    final = versions[-1]
    return steps, len(exported), sum(final[step] != path for step, path in exported.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    options = parser.parse_args()
    segmenter = AutoSegmenter(SegmentConfig())
    print("| pieces of |" + "".join(f" {piece} |" for piece in PIECES))
    print("|---|" + "---|" * len(PIECES))
    for source in SOURCES:
        path = options.bench / "trajectories" / f"{source}.jsonl.gz"
        lanes = [lane_of(record) for record in read_trajectories(path)]
        cells = []
        for piece in PIECES:
            rows = [replay(lane, piece, segmenter) for lane in lanes]
            steps, early, moved = map(sum, zip(*rows, strict=True))
            cells.append(f" {early / steps:.2f}, {moved / steps:.3f} |")
        print(f"| {source} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
