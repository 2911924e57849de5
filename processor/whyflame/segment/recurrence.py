"""`recurrence`: the paper's statistical method, for comparison.

Adjacent actions that recur together stay together: a boundary where the pair's normalised
pointwise mutual information is unseen or under a two-means cutoff. One level; intervals are named
like those of `auto`, where the paper lists their actions. A lane whose pairs cannot be told apart
(the paper's tool ends with an error there) is one interval.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.content.activity import ACTIVITIES
from whyflame.errors import ConfigError
from whyflame.segment.auto.naming import nest_named, stretches_of
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.verbs import list_spans, load_verbs
from whyflame.segment.names import Namer, load_tables
from whyflame.segment.scoring import summarize, tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.lane import Lane
    from whyflame.segment.segmenter import Mark

__all__ = ["Model", "RecurrenceSegmenter", "fit", "fit_calibrated", "two_means"]

Pair = tuple[str, str]
_ROUNDS = 100


@dataclass(frozen=True)
class Model:
    """Pair scores and the two cutoffs: for all pairs, and for pairs that change the action."""

    scores: dict[Pair, float]
    cutoff: float
    cross_cutoff: float

    def is_boundary(self, before: str, after: str) -> bool:
        """Whether an interval ends between the two actions."""
        score = self.scores.get((before, after))
        if score is None:
            return True
        if before == after:
            return score < self.cutoff
        return score < min(self.cutoff, self.cross_cutoff)

    def to_json(self) -> str:
        """For the option `reference`."""
        pairs = [[a, b, score] for (a, b), score in sorted(self.scores.items())]
        return json.dumps(
            {"pairs": pairs, "cutoff": self.cutoff, "cross_cutoff": self.cross_cutoff}
        )


def count_pairs(sequences: Iterable[Sequence[str]]) -> Counter[Pair]:
    """Adjacent ordered pairs of all sequences."""
    pairs: Counter[Pair] = Counter()
    for sequence in sequences:
        pairs.update(pairwise(sequence))
    return pairs


def mutual_information(pairs: Counter[Pair]) -> dict[Pair, float]:
    """NPMI of every pair; both marginals come from the same sample of transitions."""
    total = sum(pairs.values())
    left: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (before, after), count in pairs.items():
        left[before] += count
        right[after] += count
    scores = {}
    for (before, after), count in pairs.items():
        share = count / total
        if share == 1:
            scores[before, after] = 1.0
            continue
        expected = left[before] / total * (right[after] / total)
        scores[before, after] = math.log(share / expected) / -math.log(share)
    return scores


def two_means(values: Sequence[float], weights: Sequence[int]) -> float | None:
    """Midpoint between the two clusters of weighted numbers; None when there is one cluster.

    Starts at the smallest and the largest value, ties go low, as the paper's tool does it.
    """
    low, high = min(values), max(values)
    if low == high:
        return None
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        parts: tuple[list[int], list[int]] = ([], [])
        for index, value in enumerate(values):
            parts[value > middle].append(index)
        if not parts[0] or not parts[1]:
            return None
        means = [
            sum(values[i] * weights[i] for i in part) / sum(weights[i] for i in part)
            for part in parts
        ]
        if means == [low, high]:
            break
        low, high = means
    return (low + high) / 2


def fit(sequences: Iterable[Sequence[str]]) -> Model | None:
    """Scores and cutoffs of reference sequences; None when they cannot be told apart."""
    pairs = count_pairs(sequences)
    if not pairs:
        return None
    scores = mutual_information(pairs)
    keys = sorted(scores)
    cutoff = two_means([scores[key] for key in keys], [pairs[key] for key in keys])
    if cutoff is None:
        return None
    crossing = [key for key in keys if key[0] != key[1]]
    cross = None
    if crossing:
        cross = two_means([scores[key] for key in crossing], [pairs[key] for key in crossing])
    return Model(scores, cutoff, cutoff if cross is None else cross)


def fit_calibrated(
    sequences: Sequence[Sequence[str]], partitions: Sequence[Sequence[int]]
) -> Model | None:
    """Like `fit`, with the cutoff that agrees best with annotated reference sequences."""
    pairs = count_pairs(sequences)
    if not pairs:
        return None
    scores = mutual_information(pairs)
    distinct = sorted(set(scores.values()))
    middles = [(a + b) / 2 for a, b in pairwise(distinct)]
    best, best_cutoff = -1.0, distinct[0] - 1
    for cutoff in [distinct[0] - 1, *middles, distinct[-1] + 1]:
        model = Model(scores, cutoff, cutoff)
        tallies = [
            tally(cut(model, sequence), partition)
            for sequence, partition in zip(sequences, partitions, strict=True)
        ]
        score = summarize(tallies)["b3_f1"]
        if score > best:
            best, best_cutoff = score, cutoff
    return Model(scores, best_cutoff, best_cutoff)


def cut(model: Model, sequence: Sequence[str]) -> list[int]:
    """Group number per action."""
    groups = [0] if sequence else []
    for before, after in pairwise(sequence):
        groups.append(groups[-1] + model.is_boundary(before, after))
    return groups


def actions_of(lane: Lane) -> list[str]:
    """The action of every step: its first tool, else what it does."""
    activities = read_steps([lane]).activity
    return [
        step.calls[0].tool if step.calls else ACTIVITIES[activities[position]]
        for position, step in enumerate(lane.steps)
    ]


class RecurrenceSegmenter:
    """The paper's method as a segmenter.

    Args:
        config: Option `reference`: file written by `Model.to_json`; without it every lane is its
            own reference.
    """

    name = "recurrence"

    def __init__(self, config: SegmentConfig) -> None:
        self.namer = Namer(load_tables(config.names_file))
        reference = config.options.get("reference")
        self._calibrated = str(config.options.get("calibrated", "")).lower() in ("true", "1", "yes")
        self._model = _read_model(Path(str(reference))) if reference else None

    def trained(
        self, lanes: Sequence[Lane], partitions: Sequence[list[int] | None]
    ) -> RecurrenceSegmenter:
        """The same with these lanes as reference; option `calibrated` uses their annotation."""
        fitted = copy(self)
        sequences = [actions_of(lane) for lane in lanes]
        if self._calibrated:
            pairs = [(s, p) for s, p in zip(sequences, partitions, strict=True) if p is not None]
            fitted._model = fit_calibrated([s for s, _ in pairs], [p for _, p in pairs])  # noqa: SLF001
        else:
            fitted._model = fit(sequences)  # noqa: SLF001 - a copy of this very class
        return fitted

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks of one lane: one level below the root."""
        if not lane.steps:
            return []
        actions = actions_of(lane)
        model = self._model or fit([actions])
        cuts = []
        if model is not None:
            pairs = pairwise(actions)
            cuts = [at for at, pair in enumerate(pairs, 1) if model.is_boundary(*pair)]
        table, namer = read_steps([lane]), self.namer
        spans = list_spans(table, [[cuts]])
        verbs = load_verbs().choose(table, [lane], spans.starts, spans.ends)
        turned = np.zeros(len(spans.starts), np.bool_)
        found = namer.name([lane], stretches_of(spans, table, verbs, turned))
        named = dict(zip(spans.pairs[0], found, strict=True))
        return nest_named(namer, namer.root(lane), len(lane.steps), [cuts], named, many=True)


def _read_model(path: Path) -> Model:
    try:
        raw: dict[str, Any] = json.loads(path.read_text("utf-8"))
        scores = {(str(a), str(b)): float(score) for a, b, score in raw["pairs"]}
        return Model(scores, float(raw["cutoff"]), float(raw["cross_cutoff"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"segment.options.reference: {path}: {error}") from error
