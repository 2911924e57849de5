"""Fit the verb model that ships with `auto`, and show its held-out accuracy.

    python bench/segmentation/train_verbs.py --bench ../shared/bench

Labels: the first word of annotated names (todo items, model marks), canonical by the verb table.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from dataset import FOLDS, Row, read_marks, read_rows
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.verbs import Intervals, VerbModel, describe_intervals
from whyflame.segment.names import load_tables

if TYPE_CHECKING:
    from whyflame.segment.segmenter import Mark

STRENGTH = 0.06
TODO_WEIGHT = 2.0
SMALLEST = 0.05
MIN_EXAMPLES = 8
SAYS_NOTHING = "handle"  # said where it was asked for, never guessed
OUT = Path("processor/whyflame/segment/auto/verbs.json")


@dataclass
class Example:
    row: int
    start: int
    end: int
    verb: str
    name: str
    todo: bool


def examples_of(number: int, row: Row, marks: list[Mark] | None) -> list[Example]:
    verbs, steps = load_tables().verbs, len(row.lane.steps)
    found = []
    for depth in (2, 3):
        spans: list[list] = []
        for i, mark in enumerate(marks or []):
            path = mark.path[:depth]
            end = marks[i + 1].step if marks and i + 1 < len(marks) else steps
            if spans and spans[-1][2] == path:
                spans[-1][1] = end
            else:
                spans.append([mark.step, end, path])
        for start, end, path in spans:
            verb = verbs.get(path[-1].split()[0])
            if len(path) == depth and verb and end > start:
                found.append(Example(number, start, end, verb, path[-1], todo=False))
    return found + todo_examples(number, row)


def todo_examples(number: int, row: Row) -> list[Example]:
    if row.silver is None:
        return []
    verbs, names, found = load_tables().verbs, row.record["gold"]["names"], []
    edges = [0, *(i for i in range(1, len(row.silver)) if row.silver[i] != row.silver[i - 1])]
    for start, end in zip(edges, [*edges[1:], len(row.silver)], strict=True):
        name = names[row.silver[start]] if row.silver[start] < len(names) else None
        words = re.findall(r"[a-z]+", (name or "").lower())
        if words and words[0] in verbs:
            found.append(Example(number, start, end, verbs[words[0]], name, todo=True))
    return found


def expand(found: Intervals) -> np.ndarray:
    """Codes as 0/1 columns behind the numbers."""
    wide = np.zeros((len(found.codes), sum(Intervals.SIZES)), np.float32)
    np.put_along_axis(wide, found.codes, 1.0, axis=1)
    return np.concatenate([found.numbers, wide], axis=1)


class Trainer:
    """The examples as rows, with text and blanked.

    Args:
        bench: Folder of the data.
    """

    def __init__(self, bench: Path) -> None:
        rows, marks = read_rows(bench), read_marks(bench)
        examples = [
            example
            for number, row in enumerate(rows)
            for example in examples_of(number, row, marks.get((row.source, row.record["id"])))
        ]
        counts = Counter(example.verb for example in examples)
        examples = [
            example
            for example in examples
            if counts[example.verb] >= MIN_EXAMPLES and example.verb != SAYS_NOTHING
        ]
        self.parts = []
        for blank in (False, True):
            lanes = [row.blank if blank else row.lane for row in rows]
            table = read_steps(lanes)
            offset = table.starts[[example.row for example in examples]]
            starts = offset + [example.start for example in examples]
            ends = offset + [example.end for example in examples]
            self.parts.append(expand(describe_intervals(table, lanes, starts, ends)))
        self.verbs = np.array([example.verb for example in examples])
        self.folds = np.array([rows[example.row].fold for example in examples])
        self.todo = np.array([example.todo for example in examples])

    def fit(self, use: np.ndarray) -> LogisticRegression:
        weight = np.where(self.todo, TODO_WEIGHT, 1.0)[use]
        model = LogisticRegression(C=STRENGTH, max_iter=400)
        return model.fit(
            csr_matrix(np.concatenate([part[use] for part in self.parts])),
            np.concatenate([self.verbs[use]] * 2),
            np.concatenate([weight, 0.5 * weight]),
        )

    def held_out(self) -> list[VerbModel]:
        """By fold, the model that has not seen it."""
        found = []
        for fold in range(FOLDS):
            model = self.fit(self.folds != fold)
            weights = np.where(np.abs(model.coef_.T) >= SMALLEST, model.coef_.T.round(2), 0)
            bias = model.intercept_.round(3).astype(np.float32)
            found.append(VerbModel(tuple(model.classes_), weights.astype(np.float32), bias))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    trainer = Trainer(options.bench)
    verbs, folds, todo = trainer.verbs, trainer.folds, trainer.todo
    guess = [np.empty(len(verbs), verbs.dtype) for _ in trainer.parts]
    for fold in range(FOLDS):
        model = trainer.fit(folds != fold)
        for mine, part in zip(guess, trainer.parts, strict=True):
            mine[folds == fold] = model.predict(part[folds == fold])
    for name, mine in zip(("text", "blank"), guess, strict=True):
        hit = mine == verbs
        print(f"{name}: todo {hit[todo].mean():.3f} ({todo.sum()}), marks {hit[~todo].mean():.3f}")
    model = trainer.fit(np.ones(len(verbs), bool))
    coefficients = np.round(model.coef_.T, 2)
    kept = [
        [int(r), int(c), float(coefficients[r, c])]
        for r, c in zip(*np.nonzero(np.abs(coefficients) >= SMALLEST), strict=True)
    ]
    text = json.dumps(
        {
            "version": 1,
            "features": coefficients.shape[0],
            "verbs": model.classes_.tolist(),
            "bias": np.round(model.intercept_, 3).tolist(),
            "weights": kept,
        },
        separators=(",", ":"),
    )
    options.out.write_text(text + "\n", "utf-8")
    print(f"{options.out}: {len(text)} bytes from {len(verbs)} intervals")


if __name__ == "__main__":
    main()
