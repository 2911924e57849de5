"""Fit how object words are chosen and which names are preferred; show both held out.

    python bench/segmentation/train_names.py --bench ../shared/bench

Which words are right is learned from annotated names (todo items, model marks); only the weights of
a few words that many names have belong to words. The names to share are chosen one after the other,
each the one that gains most, for the coding runs and then for all others: an interval takes the name
of the list that is likeliest right, or keeps its own where that costs too much. Run `train_verbs.py` before it.
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
from typing import TYPE_CHECKING, Any

import numpy as np
from dataset import FOLDS, MARKED, read_marks, read_rows, task_of
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from train_verbs import examples_of

from whyflame.config import SegmentConfig
from whyflame.content.vocabulary import STOP_WORDS
from whyflame.segment.auto.naming import stretches_of
from whyflame.segment.auto.segmenter import AutoSegmenter
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.verbs import Spans, VerbChoice, VerbModel, load_verbs
from whyflame.segment.name_scoring import canonical, read_annotated
from whyflame.segment.names import Namer, Wording, load_tables
from whyflame.segment.names.signals import BITS, NUMBERS
from whyflame.segment.names.spelling import PLACES, rank
from whyflame.segment.names.wording import MOST_STEPS, USUAL_STEPS
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.segment.names.ranking import Words

OUT = Path("processor/whyflame/segment/names/wording.json")
STRENGTH = 0.025
FEWEST_PAIRS, FEWEST_TASKS = 2, 3
CODING_NAMES, OTHER_NAMES = 45, 80  # few: names that few tasks have do not fold
SHARING = 0.12  # what it is worth that a usual interval's name is shared, where names are chosen
BITS_OF_WORD = 20
# Plan items are no steps of these sets, since their annotation was made from them.
PLANNED = 3.0


@dataclass
class Stretch:
    """An interval of a lane, its fold, and what it should be called; None where nobody says."""

    lane: int
    start: int
    end: int
    fold: int
    words: frozenset[str] | None = None
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
                words = read_annotated(load_tables(), one.name).words
                self.said.append(one.name)
                self.examples.append(Stretch(number, one.start, one.end, row.fold, words, weight))
        self.stretches = describe(self.lanes, self.examples, [load_verbs()])
        self.folds = np.asarray([one.fold for one in self.examples])
        self.runs, self.run_folds, self.tasks, self.sources = [], [], [], []
        for source in MARKED:
            for record in read_trajectories(bench / "trajectories" / f"{source}.jsonl.gz"):
                self.runs.append(lane_of(record))
                self.run_folds.append(fold_of(source, record))
                self.tasks.append(task_of(source, record))
                self.sources.append(source)
        # Not with the shipped names, which would then depend on what was shipped before.
        self.pieces = cut(self.runs, self.run_folds, self.fit(self.folds >= 0))

    def fit(self, use: np.ndarray) -> Wording:
        """Weights of words, from these examples; without names."""
        found, spelled, _, _ = self.namer.describe(self.lanes, self.stretches)
        wanted = [one.words or set() for one in self.examples]
        right = np.asarray(
            [
                canonical(load_tables(), spelled[word]) in wanted[group]
                for group, word in zip(found.groups.tolist(), found.words.tolist(), strict=True)
            ]
        )
        weights = np.asarray([one.weight for one in self.examples])[found.groups]
        rows = use[found.groups]
        model = LogisticRegression(C=STRENGTH, max_iter=400)
        model.fit(columns_of(found)[rows], right[rows], weights[rows])
        fitted = model.coef_[0].round(3)
        bits, numbers = fitted[: len(BITS)], fitted[len(BITS) :]
        bits[BITS.index("planned")] = PLANNED
        bias = round(float(model.intercept_[0]), 3)
        return Wording(bias, bits, numbers, {}, self.tails(use))

    def _objects(self, name: str) -> list[str]:
        """Its object words in their order, those that may be shown."""
        clauses = self.namer._clauses  # noqa: SLF001
        return [
            "" if word in STOP_WORDS else clauses._object(word)  # noqa: SLF001
            for word in re.findall("[a-z]+", name.lower())
        ]

    def tails(self, use: np.ndarray) -> dict[str, float]:
        """How often each word stood last of two neighbours in annotated names."""
        counts: dict[str, list[int]] = defaultdict(lambda: [1, 2])
        for number in np.flatnonzero(use).tolist():
            for first, second in pairwise(self._objects(self.said[number])):
                if first and second:
                    counts[second][0] += 1
                    counts[second][1] += 1
                    counts[first][1] += 1
        found = {
            word: round(last / both, 2)
            for word, (last, both) in counts.items()
            if both >= 2 + FEWEST_PAIRS
        }
        heads = dict.fromkeys([*load_tables().heads, "error"], 1.0)  # others say of what kind
        return dict(sorted((found | heads).items()))

    def share(self, wording: Wording, verbs: VerbModel, without: int = -1) -> Wording:
        """The same with the names worth sharing.

        Args:
            wording: Without names. verbs: With these weights runs are named.
            without: A fold whose runs do not count.
        """
        kept = [fold for fold in range(FOLDS) if fold != without]
        parts = [self._options(fold, wording, verbs) for fold in kept]
        options = Options(*map(np.concatenate, zip(*parts, strict=True)))
        coding = options.sources == MARKED[0]
        names: dict[int, int] = {}
        for rows, most in ((coding, CODING_NAMES), (~coding, OTHER_NAMES)):
            mine = options.take(rows)
            chosen = mine.choose([*names], most)
            counts = mine.count([*names, *chosen])
            names |= {key: counts[key] for key in chosen if counts[key] >= FEWEST_TASKS}
        return replace(wording, names=self._spell(names))

    def _options(self, fold: int, wording: Wording, verbs: VerbModel) -> tuple[np.ndarray, ...]:
        """Names that the runs of a fold may get: the columns of `Options`."""
        pieces = [piece for piece in self.pieces if piece.fold == fold]
        stretches = describe(self.runs, pieces, [verbs])
        found, spelled, said, odds = self.namer.describe(self.runs, stretches)
        ranked = rank(wording.odds(found), found, spelled, len(pieces))
        own, worth = (
            wording.weigh(ranked, said, odds, shared=shared).reshape(len(pieces), -1)
            for shared in (False, True)
        )
        some = np.isfinite(worth).any(axis=1)  # those that have a name at all
        columns = (
            keys_of(ranked.words, said),
            worth,
            own,
            np.minimum(stretches.ends - stretches.starts, MOST_STEPS) / USUAL_STEPS,
            np.asarray([self.tasks[piece.lane] for piece in pieces]),
            np.asarray([self.sources[piece.lane] for piece in pieces]),
        )
        return tuple(column[some] for column in columns)

    def _spell(self, names: Mapping[int, int]) -> dict[str, int]:
        words, spelled = self.namer._lexicon.words, {}  # noqa: SLF001
        for key, tasks in names.items():
            verb, *objects = (words[part] for part in split_key(key) if part)
            spelled[" ".join([verb, *sorted(objects)])] = tasks
        return dict(sorted(spelled.items(), key=lambda pair: (-pair[1], pair[0])))

    def held_out(self, models: Sequence[VerbModel]) -> list[Wording]:
        """By fold, all of it from the other folds, which are named by weights that know only them."""
        return [
            self.share(self.fit(self.folds != fold), models[fold], fold) for fold in range(FOLDS)
        ]


@dataclass
class Options:
    """Every name that intervals may get, by interval.

    Attributes:
        keys: Which name. worth: How good it is if shared. own: If it is not.
        lengths: Of the intervals, in usual ones. tasks: What their runs work on. sources: Of which set.
    """

    keys: np.ndarray
    worth: np.ndarray
    own: np.ndarray
    lengths: np.ndarray
    tasks: np.ndarray
    sources: np.ndarray

    def take(self, rows: np.ndarray) -> Options:
        """Some of the intervals."""
        columns = (self.keys, self.worth, self.own, self.lengths, self.tasks, self.sources)
        return Options(*(column[rows] for column in columns))

    def choose(self, before: list[int], most: int) -> list[int]:
        """Names to add to those before: again and again the one that gains most.

        A shared name is worth `SHARING` times the interval's length more; an interval takes the best.
        """
        known, places = np.unique(self.keys, return_inverse=True)
        places = places.reshape(self.keys.shape)
        worth = self.worth + SHARING * self.lengths[:, None]
        best = self.own.max(axis=1)
        best = np.maximum(best, np.where(np.isin(self.keys, before), worth, -np.inf).max(axis=1))
        gone, chosen = np.isin(known, before), []
        while len(chosen) < most:
            gains = np.maximum(worth - best[:, None], 0.0)
            totals = np.bincount(places.ravel(), gains.ravel(), len(known))
            totals[gone] = 0.0
            pick = int(totals.round(9).argmax())
            if not totals[pick] > 0:
                break
            mine = places == pick
            gone[pick] = True
            if len(set(self.tasks[(mine & (gains > 0)).any(axis=1)])) >= FEWEST_TASKS:
                chosen.append(int(known[pick]))
                best = np.maximum(best, np.where(mine, worth, -np.inf).max(axis=1))
        return chosen

    def count(self, chosen: list[int]) -> dict[int, int]:
        """Of each of these names, how many tasks have it when each interval takes the best name."""
        shared = self.worth + SHARING * self.lengths[:, None]
        best = np.where(np.isin(self.keys, chosen), shared, self.own).argmax(axis=1)
        keys = self.keys[np.arange(len(best)), best]
        return {key: len(set(self.tasks[keys == key])) for key in chosen}


def keys_of(words: np.ndarray, verbs: np.ndarray) -> np.ndarray:
    """A number for every option of every group: its verb and its object words in one order."""
    first, second = words[:, PLACES[:, 0]], words[:, PLACES[:, 1]]
    low, high = np.minimum(first, second), np.maximum(first, second)
    low = np.where(PLACES[:, 0] == PLACES[:, 1], 0, low)
    return (((verbs[:, :, None] << BITS_OF_WORD) + low[:, None]) << BITS_OF_WORD).reshape(
        len(words), -1
    ) + np.repeat(high[:, None], verbs.shape[1], axis=1).reshape(len(words), -1)


def split_key(key: int) -> tuple[int, int, int]:
    mask = (1 << BITS_OF_WORD) - 1
    return key >> (2 * BITS_OF_WORD), (key >> BITS_OF_WORD) & mask, key & mask


def columns_of(found: Words) -> Any:
    """Rows of words for fitting: bits and numbers."""
    bits = (found.bits[:, None] >> np.arange(len(BITS))) & 1
    return csr_matrix(np.column_stack([bits, found.numbers.T]))


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
    wording = trainer.share(trainer.fit(trainer.folds >= 0), load_verbs())
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
