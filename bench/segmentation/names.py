"""How right names are, and how well they fold, on the coding set.

    python bench/segmentation/names.py --bench ../shared/bench

Rightness is what `whyflame eval` prints. Folding: a name is shared when three or more runs have it,
among all runs of the chosen tasks, or among the runs of one task.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from whyflame.config import SegmentConfig
from whyflame.segment import load_segmenter
from whyflame.segment.evaluation import evaluate_file
from whyflame.segment.trajectories import read_trajectories

ENOUGH = 3
Runs = list[tuple[dict[str, Any], list[str]]]


def folding(tasks: dict[str, Runs]) -> str:
    """Shares of steps under shared names, and distinct names per task."""
    everywhere: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for task, runs in tasks.items():
        for number, (_, names) in enumerate(runs):
            for name in names:
                everywhere[name].add((task, number))
    steps = [(name, task) for task, runs in tasks.items() for _, names in runs for name in names]
    in_all = sum(len(everywhere[name]) >= ENOUGH for name, _ in steps)
    in_task = sum(
        sum(owner == task for owner, _ in everywhere[name]) >= ENOUGH for name, task in steps
    )
    distinct = [len({name for _, names in runs for name in names}) for runs in tasks.values()]
    return (
        f"{len(tasks)} tasks, {sum(map(len, tasks.values()))} runs, {len(steps):,} steps: "
        f"{in_all / len(steps):.3f} under names of three runs, {in_task / len(steps):.3f} of three "
        f"runs of the same task; {median(distinct):g} distinct names a task"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    path = parser.parse_args().bench / "trajectories" / "claude_code_todo.jsonl.gz"
    found = evaluate_file(path, load_segmenter(SegmentConfig()))
    print({key: round(share, 3) for key, share in found.names.items()})
    tasks: dict[str, Runs] = defaultdict(list)
    for record, made in zip(read_trajectories(path), found.predictions, strict=True):
        tasks[record["task_key"]].append((record, [names[-1] for names in made["paths"]]))
    solved = {
        task: runs
        for task, runs in tasks.items()
        if len({r["model"] for r, _ in runs if (r["outcome"] or {}).get("resolved")}) > 1
    }
    tried = {
        task: runs for task, runs in tasks.items() if len({r["model"] for r, _ in runs}) >= ENOUGH
    }
    print("two or more models solved it:", folding(solved))
    print("three or more models tried it:", folding(tried))


if __name__ == "__main__":
    main()
