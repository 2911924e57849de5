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

__all__ = ["Spans", "VerbChoice", "VerbModel", "describe_intervals", "list_spans", "load_verbs"]

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
    steps, size = _Steps.of(starts, ends), (ends - starts).astype(np.float32)[:, None]
    kinds, leads = steps.count(kind, _KINDS) / size, steps.count(lead, _LEADS) / size
    failed = steps.count(table.failed.astype(np.int64), 2)[:, 1]
    said = table.model["said"]
    blocks = [
        np.column_stack(_sizes(table, starts, ends, failed)),
        kinds,
        kinds > 0,
        leads,
        leads > 0,
        _bits(said[starts]),
        _bits(_said_early(said, starts, ends)),
        0.5 * _bag_bits(table.arguments[starts]),
    ]
    codes = [
        kinds.argmax(axis=1),
        *_neighbours(table, kind, lead, starts, ends),
        *_said_verbs(table, lanes, starts),
    ]
    offsets = np.cumsum([0, *Intervals.SIZES[:-1]])
    return Intervals(
        np.concatenate(blocks, axis=1, dtype=np.float32), np.column_stack(codes) + offsets
    )


def _sizes(table: StepTable, starts: Rows, ends: Rows, failed: NDArray[Any]) -> list[NDArray[Any]]:
    """Where intervals lie in their lanes, how long they are, and how much of them failed."""
    size = (ends - starts).astype(np.float32)
    lane = table.lane[starts]
    first, last = table.starts[lane], table.starts[lane + 1]
    length = np.maximum(last - first, 1)
    begins, finishes = starts == first, ends == last
    return [
        begins,
        finishes,
        begins & finishes,
        (starts - first) / length,
        (ends - first) / length,
        np.minimum(size, _LONG) / _LONG,
        size == 1,
        failed / size,
    ]


def _said_early(said: NDArray[np.uint32], starts: Rows, ends: Rows) -> NDArray[np.uint32]:
    """Verbs said in the first three steps."""
    early = said[starts]
    for later in (starts + 1, starts + 2):
        early |= np.where(later < ends, said[np.minimum(later, len(said) - 1)], 0)
    return early


def _neighbours(
    table: StepTable, kind: Rows, lead: Rows, starts: Rows, ends: Rows
) -> list[NDArray[Any]]:
    """Kinds and leads at both ends of intervals, and of the steps around them; 0 where none are."""
    lane = table.lane[starts]
    begins, finishes = starts == table.starts[lane], ends == table.starts[lane + 1]
    most = len(kind) - 1
    return [
        kind[starts],
        np.where(ends - starts > 1, kind[np.minimum(starts + 1, most)], 0),
        kind[ends - 1],
        np.where(begins, 0, kind[np.maximum(starts - 1, 0)]),
        np.where(finishes, 0, kind[np.minimum(ends, most)]),
        lead[starts],
        np.where(begins, lead[starts] + 1, 0),
        kind[starts] * _LEADS + lead[starts],
    ]


@dataclass(frozen=True, slots=True)
class _Steps:
    """Rows of all steps of all intervals, interval by interval.

    Attributes:
        rows: Of the table.
        intervals: Which interval each lies in.
        size: How many intervals there are.
    """

    rows: Rows
    intervals: Rows
    size: int

    @classmethod
    def of(cls, starts: Rows, ends: Rows) -> _Steps:
        lengths = ends - starts
        edges = np.cumsum(lengths)
        rows = np.arange(edges[-1]) + np.repeat(starts - (edges - lengths), lengths)
        return cls(rows, np.repeat(np.arange(len(starts)), lengths), len(starts))

    def count(self, codes: Rows, size: int) -> NDArray[np.float32]:
        """How many steps of each interval have each code."""
        found = np.bincount(self.intervals * size + codes[self.rows], minlength=self.size * size)
        return found.reshape(self.size, size).astype(np.float32)


def _bits(values: NDArray[np.uint32]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(values.astype("<u4")).view(np.uint8).reshape(len(values), 4)
    return np.unpackbits(columns, axis=1, bitorder="little")[:, : len(CUES)].astype(np.float32)


def _bag_bits(bags: NDArray[np.uint64]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(bags.astype("<u8")).view(np.uint8)
    return np.unpackbits(columns, axis=1, bitorder="little").astype(np.float32)


def _said_verbs(table: StepTable, lanes: Sequence[Lane], starts: Rows) -> Rows:
    """Codes of the first word said, if it is a verb, and of the first verb; 0 when there is none."""
    owners = table.lane[starts]
    places = (starts - table.starts[owners]).tolist()
    features = [
        lanes[owner].steps[place].features or b""
        for owner, place in zip(owners.tolist(), places, strict=True)
    ]
    codes = [_codes_of(one[RECORD_BYTES:].partition(b"\x1f")[0]) for one in features]
    return np.asarray(codes, np.int64).reshape(-1, 2).T


@lru_cache(maxsize=_MEMO_LIMIT)
def _codes_of(said: bytes) -> tuple[int, int]:
    verbs = load_tables().verbs
    found = [
        _SAID_CODES.get(verbs.get(word, ""), 0) for word in said.decode("utf-8", "replace").split()
    ]
    return (found[0], next(filter(None, found), 0)) if found else (0, 0)


@dataclass(frozen=True, slots=True)
class VerbChoice:
    """The two likeliest verbs of intervals.

    Attributes:
        verbs: All that the model knows.
        codes: By interval, which of them, likeliest first. odds: Log of how likely each is.
    """

    verbs: tuple[str, ...]
    codes: Rows
    odds: NDArray[np.float64]


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
    ) -> VerbChoice:
        """The two likeliest verbs of every interval."""
        if not len(starts):
            return VerbChoice(self.verbs, np.zeros((0, 2), np.int64), np.zeros((0, 2)))
        found = describe_intervals(table, lanes, starts, ends)
        weights = self.weights.astype(np.float64)
        numbers = found.numbers.astype(np.float64)
        scores = np.empty((len(starts), len(self.verbs)))
        for first in range(0, len(starts), _ROWS):
            rows = slice(first, first + _ROWS)
            scores[rows] = numbers[rows] @ weights[: Intervals.WIDTH] + self.bias
        coded = weights[Intervals.WIDTH :]
        for codes in found.codes.T:
            scores += coded.take(codes, axis=0)
        # Rounded: the last bits depend on the batch, and equal lanes must get equal names.
        scores = scores.round(6)
        first = scores.argmax(axis=1)
        highest = scores.max(axis=1, keepdims=True)
        total = np.log(np.exp(scores - highest).sum(axis=1, keepdims=True)) + highest
        others = scores.copy()
        np.put_along_axis(others, first[:, None], -np.inf, axis=1)
        best = np.stack([first, others.argmax(axis=1)], axis=1)
        odds = (np.take_along_axis(scores, best, axis=1) - total).round(6)
        return VerbChoice(self.verbs, best, odds)


@cache
def load_verbs() -> VerbModel:
    """The shipped model."""
    text = files("whyflame.segment.auto").joinpath("verbs.json").read_text("utf-8")
    raw: dict[str, Any] = json.loads(text)
    weights = np.zeros((raw["features"], len(raw["verbs"])), np.float32)
    for row, column, value in raw["weights"]:
        weights[row, column] = value
    return VerbModel(tuple(raw["verbs"]), weights, np.asarray(raw["bias"], np.float32))


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals of many lanes, lane by lane.

    Attributes:
        pairs: Per lane its intervals as (start, end), counted from its first step.
        lanes, starts, ends: Of all of them: lane, first row, row behind the last.
    """

    pairs: list[list[tuple[int, int]]]
    lanes: Rows
    starts: Rows
    ends: Rows


def list_spans(table: StepTable, levels: Sequence[Sequence[Sequence[int]]]) -> Spans:
    """Every interval that nesting may ask for.

    Args:
        table: The lanes' steps.
        levels: Per lane its cut sets, coarse to fine; inside an interval the next level that cuts
            it is read, so intervals lie between neighbours of the union of a level and those above.
    """
    lengths = np.diff(table.starts).tolist()
    pairs = [
        list(_intervals(cut_sets, length)) if length else []
        for cut_sets, length in zip(levels, lengths, strict=True)
    ]
    flat = np.asarray([pair for some in pairs for pair in some], np.int64).reshape(-1, 2)
    lanes = np.repeat(np.arange(len(pairs)), [len(some) for some in pairs])
    offsets = table.starts[lanes]
    return Spans(pairs, lanes, offsets + flat[:, 0], offsets + flat[:, 1])


def _intervals(cut_sets: Sequence[Sequence[int]], length: int) -> dict[tuple[int, int], None]:
    """Neighbours of the growing union of the cut sets."""
    found: dict[tuple[int, int], None] = {(0, length): None}
    union: set[int] = {0, length}
    for cuts in cut_sets:
        union.update(cuts)
        found.update(dict.fromkeys(pairwise(sorted(union))))
    return found
