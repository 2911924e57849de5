"""Fit how object words are chosen and which names are preferred; show both held out.

    python bench/segmentation/train_names.py --bench ../shared/bench

Which words are right is learned from annotated names (todo items, model marks); only ten weights belong to
a word. The preferred names are those that runs of the public sets get, found by naming them again
and again with the names of the round before.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from dataset import FOLDS, MARKED, read_marks, read_rows, task_of
from sklearn.linear_model import LogisticRegression
from train_verbs import examples_of

from whyflame.config import SegmentConfig
from whyflame.segment.auto.naming import stretches_of
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.verbs import Spans, VerbChoice, load_verbs
from whyflame.segment.names import Namer, Wording, load_tables
from whyflame.segment.names.ranking import BITS, NUMBERS
from whyflame.segment.names.wording import FOLD
from whyflame.segment.trajectories import lane_of, read_trajectories

OUT = Path("processor/whyflame/segment/names/wording.json")
STRENGTH = 0.05
ROUNDS, WARMING = 8, 5
FEWEST_PAIRS, FEWEST_TASKS = 2, 2
# Plan items are no steps of these sets, since their annotation was made from them.
PLANNED = 3.0


def canonical(word: str) -> str:
    return load_tables().objects.get(word, word.rstrip("s"))


def object_words(name: str) -> set[str]:
    """Words of an annotated name but its verb."""
    words = re.findall("[a-z]+", name.lower())
    verbs = load_tables().verbs
    first = next((at for at, word in enumerate(words[:3]) if word in verbs), -1)
    return {canonical(word) for at, word in enumerate(words) if at != first}


@dataclass
class Stretch:
    """An interval of a lane, its fold, and what it should be called; None where nobody says."""

    lane: int
    start: int
    end: int
    fold: int
    words: set[str] | None = None
    weight: float = 0.0


def describe(lanes, intervals, models):  # type: ignore[no-untyped-def]
    """(table, stretches) of the intervals; `models` by fold know the verbs."""
    table = read_steps(lanes)
    owners = np.asarray([one.lane for one in intervals])
    starts = table.starts[owners] + [one.start for one in intervals]
    ends = table.starts[owners] + [one.end for one in intervals]
    found = [model.choose(table, lanes, starts, ends) for model in models]
    known = tuple(sorted({verb for one in found for verb in one.verbs}))
    codes = [[known.index(found[0].verbs[code]) for code in row] for row in found[0].codes]
    chosen = VerbChoice(known, np.asarray(codes, np.int64), found[0].odds)
    if len(found) > 1:
        folds = [one.fold for one in intervals]
        for at, fold in enumerate(folds):
            mine = found[fold]
            chosen.codes[at] = [known.index(mine.verbs[code]) for code in mine.codes[at]]
        chosen.odds[:] = np.asarray([found[fold].odds[at] for at, fold in enumerate(folds)])
    turned = np.zeros(len(table.turn) + 1, np.bool_)
    turned[1:-1] = (table.turn[1:] != table.turn[:-1]) & (table.lane[1:] == table.lane[:-1])
    spans = Spans([], owners, starts, ends)
    return stretches_of(spans, table, chosen, turned[starts])


class Trainer:
    """Annotated intervals as rows of words, and all runs as the segmenter cuts them.

    Args:
        bench: Folder of the data.
    """

    def __init__(self, bench: Path) -> None:
        rows, marks = read_rows(bench), read_marks(bench)
        self.namer = Namer(load_tables())
        self.lanes = [row.lane for row in rows]
        self.examples: list[Stretch] = []
        self.said: list[str] = []
        for number, row in enumerate(rows):
            coding = row.source == "claude_code_todo"
            for one in examples_of(number, row, marks.get((row.source, row.record["id"]))):
                weight = 2.0 if one.todo else 1.0 if coding else 0.5
                words = object_words(one.name)
                self.said.append(one.name)
                self.examples.append(Stretch(number, one.start, one.end, row.fold, words, weight))
        stretches = describe(self.lanes, self.examples, [load_verbs()])
        found, spelled, _, _ = self.namer.describe(self.lanes, stretches)
        bits = (found.bits[:, None] >> np.arange(len(BITS))) & 1
        self.columns = np.concatenate([bits, found.numbers.T], axis=1)
        wanted = [one.words or set() for one in self.examples]
        self.right = np.asarray(
            [
                canonical(spelled[word]) in wanted[group]
                for group, word in zip(found.groups.tolist(), found.words.tolist(), strict=True)
            ]
        )
        self.folds = np.asarray([one.fold for one in self.examples])[found.groups]
        self.weights = np.asarray([one.weight for one in self.examples])[found.groups]
        self.runs, self.run_folds, self.tasks = [], [], []
        for source in MARKED:
            for record in read_trajectories(bench / "trajectories" / f"{source}.jsonl.gz"):
                self.runs.append(lane_of(record))
                self.run_folds.append(fold_of(source, record))
                self.tasks.append(task_of(source, record))
        # Not with the shipped names, which would then depend on what was shipped before.
        bare = self.fit(self.folds >= 0)
        self.pieces = cut(self.runs, self.run_folds, bare)

    def fit(self, use: np.ndarray) -> Wording:
        """Weights of words, without names."""
        model = LogisticRegression(C=STRENGTH, max_iter=400)
        model.fit(self.columns[use], self.right[use], self.weights[use])
        weights = model.coef_[0].round(3)
        bits = weights[: len(BITS)]
        bits[BITS.index("planned")] = PLANNED
        return Wording(
            round(float(model.intercept_[0]), 3), bits, weights[len(BITS) :], {}, self.tails()
        )

    def tails(self) -> dict[str, float]:
        """How often each word stood last of two neighbours in annotated names."""
        clauses, counts = self.namer._clauses, defaultdict(lambda: [1, 2])  # noqa: SLF001
        for name in self.said:
            words = [clauses._object(word) for word in re.findall("[a-z]+", name.lower())]  # noqa: SLF001
            for first, second in pairwise(words):
                if first and second:
                    counts[second][0] += 1
                    counts[second][1] += 1
                    counts[first][1] += 1
        return {
            word: round(last / both, 2)
            for word, (last, both) in sorted(counts.items())
            if both >= 2 + FEWEST_PAIRS
        }

    def fill(self, wordings: list[Wording], models, fold: float = FOLD) -> list[Wording]:  # type: ignore[no-untyped-def]
        """The same with names: those of the runs of other folds, where there are folds."""
        stretches = describe(self.runs, self.pieces, models)
        asked = *self.namer.describe(self.runs, stretches), stretches.ends - stretches.starts
        for number in range(ROUNDS):
            heat = fold * min(1.0, (number + 1) / WARMING)
            runs: dict[str, set[int]] = defaultdict(set)
            for place, wording in enumerate(wordings):
                naming = replace(wording, fold=heat).choose(*asked)
                for group, piece in enumerate(self.pieces):
                    if naming.has(group) and piece.fold % len(wordings) == place:
                        verb, *words = next(naming.spell(group)).split()
                        runs[" ".join([verb, *sorted(words)])].add(piece.lane)
            wordings = [
                replace(one, fold=fold, names=self._shared(runs, without))
                for one, without in zip(
                    wordings, range(FOLDS) if wordings[1:] else [None], strict=True
                )
            ]
        return wordings

    def _shared(self, runs: dict[str, set[int]], without: int | None = None) -> dict[str, int]:
        counts = {
            name: len({self.tasks[run] for run in found if self.run_folds[run] != without})
            for name, found in runs.items()
        }
        kept = [(name, count) for name, count in counts.items() if count >= FEWEST_TASKS]
        return dict(sorted(kept, key=lambda pair: (-pair[1], pair[0])))


def fold_of(source: str, record: dict) -> int:
    return zlib.crc32(task_of(source, record).encode()) % FOLDS


def cut(lanes, folds, wording: Wording) -> list[Stretch]:  # type: ignore[no-untyped-def]
    """Innermost intervals of the lanes."""
    segmenter, found = AutoSegmenter(SegmentConfig(), wording=wording), []
    for number, marks in enumerate(segmenter.segment_many(lanes)):
        edges = [mark.step for mark in marks] + [len(lanes[number].steps)]
        found += [Stretch(number, start, end, folds[number]) for start, end in pairwise(edges)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    trainer = Trainer(options.bench)
    bare = trainer.fit(np.ones(len(trainer.folds), bool))
    (wording,) = trainer.fill([bare], [load_verbs()])
    text = json.dumps(
        {
            "version": 1,
            "bias": wording.bias,
            "bits": dict(zip(BITS, map(float, wording.bits), strict=True)),
            "numbers": dict(zip(NUMBERS, map(float, wording.numbers), strict=True)),
            "names": wording.names,
            "tails": wording.tails,
        },
        indent=0,
    )
    options.out.write_text(text + "\n", "utf-8")
    print(f"{options.out}: {len(text)} bytes, {len(wording.names)} names")


if __name__ == "__main__":
    main()
