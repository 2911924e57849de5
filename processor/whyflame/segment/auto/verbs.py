"""The verb of an interval, from what its steps do: a shipped multinomial model, vectorised.

Arrays are read (activities, lead verbs, cue bits, argument bags, place in the lane) and the verbs
said in an interval's first step, so that verbs of all intervals of a batch cost a few sweeps, and so
that content-free lanes get verbs too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.content.activity import ACTIVITIES
from whyflame.content.features import RECORD_BYTES
from whyflame.content.vocabulary import CUES, LEADS
from whyflame.content.words import BAG_BITS
from whyflame.segment.names import load_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable
    from whyflame.segment.lane import Lane

    Rows = NDArray[np.int64]

__all__ = ["VerbModel", "choose_verbs", "describe_intervals", "load_verbs"]

_KINDS, _LEADS = len(ACTIVITIES), len(LEADS)
_LONG = 12
_MEMO_LIMIT = 65_536
# Verbs that may be said; the position is the code, so this list is part of the model's format.
_SAID_VERBS = (
    "", "plan", "diagnose", "inspect", "find", "create", "build", "update", "migrate", "remove",
    "optimize", "fix", "restore", "reproduce", "test", "compare", "install", "configure", "run",
    "train", "compute", "convert", "translate", "deploy", "report", "summarize", "wait", "delegate",
    "triage", "book", "cancel", "return", "refund", "pay", "send", "repeat", "handle",
)  # fmt: skip
_SAID_CODES = {verb: code for code, verb in enumerate(_SAID_VERBS)}
_SAID = len(_SAID_VERBS)
_ROWS = 64  # products so small that BLAS starts no threads, which would go on spinning


@dataclass(frozen=True)
class Intervals:
    """Features of intervals: numbers, and codes that are columns of a wide 0/1 matrix."""

    numbers: NDArray[np.float32]
    codes: Rows

    WIDTH = 8 + 2 * _KINDS + 2 * _LEADS + 2 * len(CUES) + BAG_BITS
    SIZES = (_KINDS,) * 6 + (_LEADS, _LEADS + 1, _KINDS * _LEADS) + (_SAID,) * 2


def describe_intervals(
    table: StepTable, lanes: Sequence[Lane], starts: Rows, ends: Rows
) -> Intervals:
    """Features of the intervals [start, end) of table rows."""
    kind, lead = table.activity.astype(np.int64), table.model["lead"].astype(np.int64)
    size = (ends - starts).astype(np.float32)[:, None]
    lane = table.lane[starts]
    first, last = table.starts[lane], table.starts[lane + 1]
    length = np.maximum(last - first, 1)
    begins, finishes = starts == first, ends == last
    kinds = _share(np.eye(_KINDS, dtype=np.float32)[kind], starts, ends) / size
    leads = _share(np.eye(_LEADS, dtype=np.float32)[lead], starts, ends) / size
    cues = _bits(table.model["said"])
    numbers = [
        begins,
        finishes,
        begins & finishes,
        (starts - first) / length,
        (ends - first) / length,
        np.minimum(size[:, 0], _LONG) / _LONG,
        size[:, 0] == 1,
        _share(table.failed[:, None].astype(np.float32), starts, ends)[:, 0] / size[:, 0],
    ]
    codes = [
        kinds.argmax(axis=1),
        kind[starts],
        np.where(ends - starts > 1, kind[np.minimum(starts + 1, len(kind) - 1)], 0),
        kind[ends - 1],
        np.where(begins, 0, kind[np.maximum(starts - 1, 0)]),
        np.where(finishes, 0, kind[np.minimum(ends, len(kind) - 1)]),
        lead[starts],
        np.where(begins, lead[starts] + 1, 0),
        kind[starts] * _LEADS + lead[starts],
        *_said_verbs(table, lanes, starts),
    ]
    offsets = np.cumsum([0, *Intervals.SIZES[:-1]])
    early = _share(cues, starts, np.minimum(starts + 3, ends)) > 0
    bags = 0.5 * _bag_bits(table.arguments[starts])
    blocks = [
        np.column_stack(numbers), kinds, kinds > 0, leads, leads > 0, cues[starts], early, bags,
    ]  # fmt: skip
    return Intervals(
        np.concatenate(blocks, axis=1, dtype=np.float32), np.column_stack(codes) + offsets
    )


def _share(values: NDArray[np.float32], starts: Rows, ends: Rows) -> NDArray[np.float32]:
    """Sums of the rows of every interval."""
    sums = np.zeros((len(values) + 1, values.shape[1]), np.float32)
    np.cumsum(values, axis=0, out=sums[1:])
    return np.asarray(sums[ends] - sums[starts], np.float32)


def _bits(values: NDArray[np.uint32]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(values.astype("<u4")).view(np.uint8).reshape(len(values), 4)
    return np.unpackbits(columns, axis=1, bitorder="little")[:, : len(CUES)].astype(np.float32)


def _bag_bits(bags: NDArray[np.uint64]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(bags.astype("<u8")).view(np.uint8)
    return np.unpackbits(columns, axis=1, bitorder="little").astype(np.float32)


def _said_verbs(table: StepTable, lanes: Sequence[Lane], starts: Rows) -> Rows:
    """Codes of the first word said, if it is a verb, and of the first verb; 0 when there is none."""
    codes = np.zeros((2, len(starts)), np.int64)
    owners = table.lane[starts]
    places = starts - table.starts[owners]
    for row, (owner, place) in enumerate(zip(owners.tolist(), places.tolist(), strict=True)):
        features = lanes[owner].steps[place].features
        if features is not None and len(features) > RECORD_BYTES:
            codes[:, row] = _codes_of(features[RECORD_BYTES:].partition(b"\x1f")[0])
    return codes


@lru_cache(maxsize=_MEMO_LIMIT)
def _codes_of(said: bytes) -> tuple[int, int]:
    verbs = load_tables().verbs
    found = [
        _SAID_CODES.get(verbs.get(word, ""), 0) for word in said.decode("utf-8", "replace").split()
    ]
    return (found[0], next(filter(None, found), 0)) if found else (0, 0)


@dataclass(frozen=True)
class VerbModel:
    """Weights per verb.

    Attributes:
        verbs: Of the shipped verb table.
        weights: Numbers, then codes, by verbs. bias: Per verb.
    """

    verbs: tuple[str, ...]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    def choose(
        self, table: StepTable, lanes: Sequence[Lane], starts: Rows, ends: Rows
    ) -> list[str]:
        """The likeliest verb of every interval."""
        if not len(starts):
            return []
        found = describe_intervals(table, lanes, starts, ends)
        weights = self.weights.astype(np.float64)
        numbers = found.numbers.astype(np.float64)
        scores = np.empty((len(starts), len(self.verbs)))
        for first in range(0, len(starts), _ROWS):
            rows = slice(first, first + _ROWS)
            scores[rows] = numbers[rows] @ weights[: Intervals.WIDTH] + self.bias
        for codes in found.codes.T:
            scores += weights[Intervals.WIDTH + codes]
        # Rounded: the last bits depend on the batch, and equal lanes must get equal names.
        return [self.verbs[code] for code in scores.round(6).argmax(axis=1)]


@cache
def load_verbs() -> VerbModel:
    """The shipped model."""
    text = files("whyflame.segment.auto").joinpath("verbs.json").read_text("utf-8")
    raw: dict[str, Any] = json.loads(text)
    weights = np.zeros((raw["features"], len(raw["verbs"])), np.float32)
    for row, column, value in raw["weights"]:
        weights[row, column] = value
    return VerbModel(tuple(raw["verbs"]), weights, np.asarray(raw["bias"], np.float32))


def choose_verbs(
    table: StepTable, lanes: Sequence[Lane], levels: Sequence[Sequence[Sequence[int]]]
) -> list[dict[tuple[int, int], str]]:
    """Verbs of every interval that nesting may ask for, per lane by (start, end).

    Args:
        table: The lanes' steps.
        lanes: The lanes.
        levels: Per lane its cut sets, coarse to fine; inside an interval the next level that cuts
            it is read, so intervals lie between neighbours of the union of a level and those above.
    """
    keys: list[list[tuple[int, int]]] = []
    for number, cut_sets in enumerate(levels):
        length = int(table.starts[number + 1] - table.starts[number])
        keys.append(list(_intervals(cut_sets, length)) if length else [])
    offsets = np.repeat(table.starts[:-1], [len(pairs) for pairs in keys])
    flat = [pair for pairs in keys for pair in pairs]
    starts = offsets + np.asarray([start for start, _ in flat], np.int64)
    ends = offsets + np.asarray([end for _, end in flat], np.int64)
    chosen = iter(load_verbs().choose(table, lanes, starts, ends))
    return [{pair: next(chosen) for pair in pairs} for pairs in keys]


def _intervals(cut_sets: Sequence[Sequence[int]], length: int) -> dict[tuple[int, int], None]:
    """Neighbours of the growing union of the cut sets."""
    found: dict[tuple[int, int], None] = {(0, length): None}
    union: set[int] = {0, length}
    for cuts in cut_sets:
        union.update(cuts)
        found.update(dict.fromkeys(pairwise(sorted(union))))
    return found
