"""Time to segment many lanes and one long lane, from stored features, with names.

    python bench/segmentation/speed.py --bench ../shared/bench [--operations 1000000]

Lanes are slices of the public coding sessions at random offsets; an operation is a model call or a
tool call. CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import time
from pathlib import Path

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.lane import Lane, Step
from whyflame.segment.trajectories import lane_of, read_trajectories


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--lanes", type=int, default=20_000)
    options = parser.parse_args()
    path = options.bench / "trajectories" / "claude_code_todo.jsonl.gz"
    pool: list[Step] = [
        step for record in read_trajectories(path) for step in lane_of(record).steps
    ]
    draw = random.Random(5)
    steps_each = options.operations // options.lanes // 2
    lanes = []
    for number in range(options.lanes):
        at = draw.randrange(len(pool) - steps_each)
        lanes.append(Lane(str(number), steps=pool[at : at + steps_each]))
    segmenter = AutoSegmenter(SegmentConfig())
    segmenter.segment_many(lanes[:10])
    for name, some in (
        (f"{options.operations:,} operations in {options.lanes:,} lanes", lanes),
        ("1 % of the lanes", lanes[: options.lanes // 100]),
        ("one lane of 50,000 steps", [Lane(steps=(pool * 20)[:50_000])]),
    ):
        gc.collect()  # else it falls into one of them, by chance
        wall, cpu = time.perf_counter(), time.process_time()
        marks = segmenter.segment_many(some)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        found = sum(map(len, marks))
        print(f"{name}: {cpu:.2f} s CPU, {wall:.2f} s, {found:,} marks, peak {peak} MiB")


if __name__ == "__main__":
    main()
