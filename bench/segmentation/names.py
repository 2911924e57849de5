"""How right names are, and how well they fold, on the coding set.

    python bench/segmentation/names.py --bench ../shared/bench              # as shipped
    python bench/segmentation/names.py --bench ../shared/bench --held-out   # five folds by task

Right: a word of the name is a word of the annotated one (without its verb), after the aliases of
the shipped table, both on the annotated intervals and on the segmenter's own, of which the one that
covers most steps counts. Folding: a name is shared when three or more runs have it, among all runs
of the chosen tasks, or among the runs of one task.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from dataset import FOLDS
from train_names import Stretch, Trainer, canonical, describe, fold_of, object_words
from train_verbs import Trainer as VerbTrainer

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.auto.verbs import VerbModel, load_verbs
from whyflame.segment.names import Namer, Wording, load_tables
from whyflame.segment.names.wording import load_wording
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "claude_code_todo"
ENOUGH = 3
HEADING = (
    "shared counts | verb: annotated, own intervals | object word: annotated intervals, own "
    "innermost, own path below the root, own whole path | folding, solved | folding, tried"
)
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
    return f"{in_all / len(steps):.3f} ({in_task / len(steps):.3f} in task), {median(distinct):g} names"


class Names:
    """The coding runs with what their intervals are called.

    Args:
        bench: Folder of the data.
    """

    def __init__(self, bench: Path) -> None:
        self.records = list(read_trajectories(bench / "trajectories" / f"{SOURCE}.jsonl.gz"))
        self.lanes = [lane_of(record) for record in self.records]
        self.folds = [fold_of(SOURCE, record) for record in self.records]
        self.annotated = [
            (number, group, name)
            for number, record in enumerate(self.records)
            if record.get("scorable")
            for group, name in enumerate(record["gold"]["names"])
            if isinstance(name, str) and verb_of(name) and group in record["gold"]["partition"]
        ]

    def report(self, wordings: Sequence[Wording], models: Sequence[VerbModel]) -> str:
        """One row of the table; one of each, or one by fold."""
        paths = self._paths(wordings, models)
        cells = [*self._rightness(paths, wordings, models)]
        tasks: dict[str, Runs] = defaultdict(list)
        for record, path in zip(self.records, paths, strict=True):
            tasks[record["task_key"]].append((record, [names[-1] for names in path]))
        solved = {
            task: runs
            for task, runs in tasks.items()
            if len({r["model"] for r, _ in runs if (r["outcome"] or {}).get("resolved")}) > 1
        }
        tried = {
            task: runs
            for task, runs in tasks.items()
            if len({r["model"] for r, _ in runs}) >= ENOUGH
        }
        verb, objects = ", ".join(cells[:2]), ", ".join(cells[2:])
        return f"{verb} | {objects} | {folding(solved)} | {folding(tried)}"

    def _paths(
        self, wordings: Sequence[Wording], models: Sequence[VerbModel]
    ) -> list[list[tuple[str, ...]]]:
        """By run, the path of every step."""
        marks = [
            AutoSegmenter(SegmentConfig(), wording=wording, verbs=model).segment_many(self.lanes)
            for wording, model in zip(wordings, models, strict=True)
        ]
        found = []
        for number, lane in enumerate(self.lanes):
            at = {mark.step: mark.path for mark in marks[self.folds[number] % len(marks)][number]}
            path: tuple[str, ...] = ()
            found.append([path := at.get(step, path) for step in range(len(lane.steps))])
        return found

    def _rightness(
        self,
        paths: list[list[tuple[str, ...]]],
        wordings: Sequence[Wording],
        models: Sequence[VerbModel],
    ) -> list[str]:
        stretches = []
        for number, group, _ in self.annotated:
            steps = [
                i for i, at in enumerate(self.records[number]["gold"]["partition"]) if at == group
            ]
            stretches.append(Stretch(number, steps[0], steps[-1] + 1, self.folds[number]))
        described = describe(self.lanes, stretches, models)
        named = [Namer(load_tables(), one).name(self.lanes, described) for one in wordings]
        hits = [0] * 6
        for row, (number, group, name) in enumerate(self.annotated):
            verb, words = verb_of(name), object_words(name)
            mine = next(named[self.folds[number] % len(named)][row].names())
            partition = self.records[number]["gold"]["partition"]
            carried = [p for p, at in zip(paths[number], partition, strict=True) if at == group]
            path = max(carried, key=carried.count)
            hits[0] += verb_of(mine) == verb
            hits[1] += verb_of(path[-1]) == verb
            for place, names in enumerate(([mine], path[-1:], path[1:], path), 2):
                hits[place] += any(canonical(w) in words for n in names for w in n.split()[1:])
        return [f"{hit / len(self.annotated):.3f}" for hit in hits]


def verb_of(name: str) -> str | None:
    verbs = load_tables().verbs
    words = re.findall("[a-z]+", name.lower())
    return next((verbs[word] for word in words[:3] if word in verbs), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--fold", type=float, nargs="+", help="frontier: what sharing counts")
    options = parser.parse_args()
    names = Names(options.bench)
    print(f"{len(names.annotated)} annotated intervals, {len(names.records)} runs")
    print(HEADING)
    if not options.held_out:
        wording = load_wording()
        print(wording.fold, "|", names.report([wording], [load_verbs()]))
        return
    trainer, models = Trainer(options.bench), VerbTrainer(options.bench).held_out()
    bare = [trainer.fit(trainer.folds != fold) for fold in range(FOLDS)]
    for fold in options.fold or [load_wording().fold]:
        print(fold, "|", names.report(trainer.fill(bare, models, fold), models), flush=True)


if __name__ == "__main__":
    main()
