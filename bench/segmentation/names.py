"""How right names are, and how well they fold, on the coding set.

    python bench/segmentation/names.py --bench ../shared/bench              # as shipped
    python bench/segmentation/names.py --bench ../shared/bench --held-out   # five folds by task

What is right is defined in `whyflame.segment.name_scoring`; here on the annotated intervals and on
the segmenter's own, of which the path that most steps have counts. Folding: a name is shared when three or more runs have it, among all runs
of the chosen tasks, or among the runs of one task.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from train_names import Stretch, Trainer, describe, fold_of
from train_verbs import Trainer as VerbTrainer

from whyflame.config import SegmentConfig
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.auto.verbs import VerbModel, load_verbs
from whyflame.segment.name_scoring import main_path, paths_of, read_annotated
from whyflame.segment.names import Namer, Wording, load_tables
from whyflame.segment.names.wording import load_wording
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "claude_code_todo"
ENOUGH = 3
COARSE = {
    "plan": {"plan"},
    "inspect": {"inspect", "find", "diagnose", "triage", "compare"},
    "create": {"create", "store", "build"},
    "update": {"update", "migrate", "remove", "optimize"},
    "fix": {"fix", "restore"},
    "test": {"test", "reproduce"},
    "install": {"install", "configure", "deploy"},
    "run": {"run", "wait", "repeat"},
    "train": {"train"},
    "compute": {"compute"},
    "convert": {"convert", "translate"},
    "report": {"report", "summarize", "send"},
    "delegate": {"delegate"},
    "book": {"book", "cancel", "return", "refund", "pay"},
    "handle": {"handle"},
}
"""Verbs of the table in fifteen classes, the number of the specification's; its own are not known."""
HEADING = (
    "shared counts | verb: annotated, own intervals | the same of fifteen classes | object word: annotated intervals, own "
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
            (number, group, annotated)
            for number, record in enumerate(self.records)
            if record.get("scorable")
            for group, name in enumerate(record["gold"]["names"])
            if group in record["gold"]["partition"]
            and (annotated := read_annotated(load_tables(), name))
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
        verb, classes, objects = ", ".join(cells[:2]), ", ".join(cells[2:4]), ", ".join(cells[4:])
        return f"{verb} | {classes} | {objects} | {folding(solved)} | {folding(tried)}"

    def _paths(
        self, wordings: Sequence[Wording], models: Sequence[VerbModel]
    ) -> list[list[tuple[str, ...]]]:
        """By run, the path of every step."""
        found: list[list[tuple[str, ...]]] = [[] for _ in self.lanes]
        for place, (wording, model) in enumerate(zip(wordings, models, strict=True)):
            segmenter = AutoSegmenter(SegmentConfig(), wording=wording, verbs=model)
            mine = [at for at, fold in enumerate(self.folds) if fold % len(models) == place]
            lanes = [self.lanes[at] for at in mine]
            for at, marks in zip(mine, segmenter.segment_many(lanes), strict=True):
                found[at] = paths_of(marks, len(self.lanes[at].steps))
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
        hits = [0] * 8
        for row, (number, group, annotated) in enumerate(self.annotated):
            mine = next(named[self.folds[number] % len(named)][row].names())
            path = main_path(paths[number], self.records[number]["gold"]["partition"], group)
            hits[0] += annotated.has_verb_of(mine)
            hits[1] += annotated.has_verb_of(path[-1])
            hits[2] += coarse(mine.split()[0]) == coarse(annotated.verb)
            hits[3] += coarse(path[-1].split()[0]) == coarse(annotated.verb)
            for place, names in enumerate(([mine], path[-1:], path[1:], path), 4):
                hits[place] += annotated.has_object_of(names)
        return [f"{hit / len(self.annotated):.3f}" for hit in hits]


def coarse(verb: str) -> str:
    """The class of a verb of the table, of fifteen: as people would group them by what is done."""
    return next(name for name, verbs in COARSE.items() if verb in verbs)


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
    wordings = trainer.held_out(models)
    for fold in options.fold or [load_wording().fold]:
        mine = [replace(one, fold=fold) for one in wordings]
        print(fold, "|", names.report(mine, models), flush=True)


if __name__ == "__main__":
    main()
