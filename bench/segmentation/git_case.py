"""Shares of the work on authentication in the paper's Git deployment case.

    python bench/segmentation/git_case.py --bench ../shared/bench

Once as annotated ("diagnose authentication"), once with `auto` alone: what lies below any interval
whose object is authentication, run by run. `evaluate.py` prints the same table.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.workspace import Workspace, read_workspace

METRICS = ("operations", "tokens", "seconds")
OBJECT = "authentication"


def read_case(bench: Path) -> Workspace:
    folder = bench / "git-case"
    workspace = read_workspace(folder)
    lines = (folder / "git-multibranch.time.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    seconds = {f"tool:{row['fields']['evidence_id']}": row["value"] for row in rows}
    for node in workspace.nodes:
        node.metrics["seconds"] = seconds.get(node.id, 0)
    return workspace


def shares(workspace: Workspace, run: str | None) -> list[tuple[int, int]]:
    """Below an interval with the object, and in all, per metric; of one run or of all."""
    nodes = [node for node in workspace.nodes if run in (None, node.session)]
    found = []
    for metric in METRICS:
        values = [(node.metrics.get(metric, 0), node.path[1:]) for node in nodes]
        below = sum(v for v, path in values if any(OBJECT in name.split() for name in path))
        found.append((below, sum(value for value, _ in values)))
    return found


def show(bench: Path, segmenter: AutoSegmenter) -> None:
    workspace = read_case(bench)
    lanes = workspace.lanes()
    print("git-case | " + " | ".join(METRICS) + " | names")
    for method in ("annotation", "auto"):
        if method == "auto":
            workspace.apply({run: segmenter.segment(lane) for run, lane in lanes.items()})
        for number, run in enumerate([*lanes, None], 1):
            cells = [
                f"{below:,}/{total:,} ({below / total:.1%})"
                for below, total in shares(workspace, run)
            ]
            names = {
                name
                for node in workspace.nodes
                if run in (None, node.session)
                for name in node.path[1:]
                if OBJECT in name.split()
            }
            place = f"run {number}" if run else "all runs"
            print(f"{method}, {place} | " + " | ".join(cells) + " | " + ", ".join(sorted(names)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    show(parser.parse_args().bench, AutoSegmenter(SegmentConfig()))


if __name__ == "__main__":
    main()
