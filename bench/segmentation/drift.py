"""How much of what is exported while a run grows has another path when it ends.

    python bench/segmentation/drift.py --bench ../shared/bench

Runs of the public sets are replayed in pieces; after each piece the lane is segmented and what
`stable_steps` allows is exported; the rest goes at the end. Shares are of steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from whyflame.config import SegmentConfig
from whyflame.segment import Lane, stable_steps
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.trajectories import lane_of, read_trajectories

SOURCES = ("claude_code_todo", "tau_bench_airline", "who_and_when")


def paths_of(marks: list, steps: int) -> list:
    at, path, found = {mark.step: mark.path for mark in marks}, (), []
    for step in range(steps):
        path = at.get(step, path)
        found.append(path)
    return found


def replay(lane: Lane, piece: int, segmenter: AutoSegmenter) -> tuple[int, int, int]:
    """Steps, steps exported before the end, and how many of these moved."""
    steps, old = len(lane.steps), []
    exported: dict[int, tuple] = {}
    for end in range(piece, steps, piece):
        new = segmenter.segment(Lane(request=lane.request, steps=lane.steps[:end]))
        paths = paths_of(new, end)
        for step, stable in enumerate(stable_steps(old, new, end)):
            if stable:
                exported.setdefault(step, paths[step])
        old = new
    final = paths_of(segmenter.segment(lane), steps)
    return steps, len(exported), sum(final[step] != path for step, path in exported.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    options = parser.parse_args()
    segmenter = AutoSegmenter(SegmentConfig())
    for source in SOURCES:
        path = options.bench / "trajectories" / f"{source}.jsonl.gz"
        lanes = [lane_of(record) for record in read_trajectories(path)]
        for piece in (5, 10, 15, 30):
            rows = [replay(lane, piece, segmenter) for lane in lanes]
            steps, early, moved = map(sum, zip(*rows, strict=True))
            print(
                f"{source:20s} pieces of {piece:2d}: early {early / steps:.2f}, moved {moved / steps:.3f}"
            )


if __name__ == "__main__":
    main()
