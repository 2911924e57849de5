"""From evidence words to names: verb of the table, then one or two object words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.features import RECORD_BYTES
from whyflame.segment.names.clauses import ClauseReader
from whyflame.segment.names.evidence import NOTHING, Evidence, Lexicon
from whyflame.segment.names.implied import Doings, Implied
from whyflame.segment.names.ranking import Preferences, describe, gather
from whyflame.segment.names.wording import Wording, load_wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.ranking import Words
    from whyflame.segment.names.tables import NameTables
    from whyflame.segment.names.wording import Naming

    Rows = NDArray[np.int64]

__all__ = ["DEFAULT_ROOT", "Named", "Namer", "Stretches"]

DEFAULT_ROOT = "handle request"
_EVIDENCE_STEPS, _FOCUS_STEPS = 6, 8
_FOCUS_MOST = 2 * _FOCUS_STEPS - 1  # a stride is a whole number
_ASKED_WITHIN = 3  # steps of which one tells the request, where no span of its own does
_SAYS_NOTHING = "work"
_SAID, _UNSAID = math.log(0.6), math.log(0.4)  # how far a verb that was said is believed
_CALLS = 2
_PIECES = 1 + 2 * _CALLS  # evidence of a step: of the model call, of the names and of the calls


@dataclass(frozen=True, slots=True)
class Stretches:
    """Intervals to name.

    Attributes:
        lanes: Position of each one's lane.
        starts, ends: Rows, where the steps of all lanes lie one after the other.
        verbs: All that `codes` may stand for.
        codes: By interval what its steps do, by `VerbModel`, likeliest first; words that were said
            may know better.
        odds: Log of how likely each of them is.
        turned: The first step begins a user turn, so what was asked counts.
        activities, failed: By row, what the step does, and whether it failed.
    """

    lanes: Rows
    starts: Rows
    ends: Rows
    verbs: Sequence[str]
    codes: Rows
    odds: NDArray[np.float64]
    turned: NDArray[np.bool_]
    activities: NDArray[np.uint8]
    failed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Named:
    """What an interval can be called.

    Attributes:
        naming: Names of it and others. group: Which it is.
    """

    naming: Naming
    group: int

    @property
    def verb(self) -> str:
        """The likeliest verb."""
        return self.naming.verb(self.group)

    @property
    def objects(self) -> list[str]:
        """Object words, likeliest first."""
        return self.naming.objects(self.group) or [_SAYS_NOTHING]

    def names(self) -> Iterator[str]:
        """Names, best first."""
        if self.naming.has(self.group):
            return self.naming.spell(self.group)
        return iter((f"{self.verb} {_SAYS_NOTHING}",))


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
        wording: Other weights and shared names than the shipped ones, for cross-validation.
    """

    def __init__(self, tables: NameTables, wording: Wording | None = None) -> None:
        self.tables = tables
        self._wording = wording
        self._clauses = ClauseReader(tables)
        self._lexicon = Lexicon(tables, self._clauses)

    def _current(self) -> Lexicon:
        """What has been read so far, while it is bounded; a caller keeps what it began with."""
        if self._lexicon.is_full():
            self._lexicon = Lexicon(self.tables, self._clauses)
        return self._lexicon

    def root(self, lane: Lane, verb: str = "") -> str:
        """Name of the lane's goal, from the first request.

        Args:
            lane: With its request, or with steps that carry it.
            verb: Used when the request has none.
        """
        usual = verb or "handle"
        found, objects = _read_request(lane, self._current())
        objects = self._without_loose_ends(objects[:2])
        if not found and not objects:
            return DEFAULT_ROOT
        return " ".join([found or usual, *(objects or ["request"])])

    def _without_loose_ends(self, objects: list[str]) -> list[str]:
        """A qualifier stands before the word that it qualifies, or not at all."""
        if objects and objects[-1] in self.tables.qualifiers:
            return objects[-1:] + objects[:-1] if len(objects) > 1 else []
        return objects

    def name(self, lanes: Sequence[Lane], stretches: Stretches) -> list[Named]:
        """Verb and object words of intervals; the same for each whatever else is asked.

        Args:
            lanes: All lanes of the batch.
            stretches: Their intervals.
        """
        lexicon = self._current()
        wording = self._wording or load_wording()
        found, verbs, odds = self._describe(lexicon, lanes, stretches, wording.implied)
        steps = stretches.ends - stretches.starts
        naming = wording.choose(found, lexicon.words, verbs, odds, steps)
        return [Named(naming, group) for group in range(len(stretches.lanes))]

    def describe(
        self, lanes: Sequence[Lane], stretches: Stretches, implied: Implied
    ) -> tuple[Words, list[str], Rows, NDArray[np.float64]]:
        """What `Wording.choose` is asked: words of intervals, words by number, verbs, their odds."""
        lexicon = self._current()
        found, verbs, odds = self._describe(lexicon, lanes, stretches, implied)
        return found, lexicon.words, verbs, odds

    def _describe(
        self, lexicon: Lexicon, lanes: Sequence[Lane], stretches: Stretches, implied: Implied
    ) -> tuple[Words, Rows, NDArray[np.float64]]:
        """Words, verbs with their odds."""
        requests = [_read_request(lane, lexicon)[1] for lane in lanes]
        numbers = np.asarray([lexicon.number(verb) for verb in stretches.verbs], np.int64)
        usual = numbers[stretches.codes]
        focus, first, looked = _read_pieces(lexicon, lanes, stretches)
        evidence = lexicon.arrays()
        preferences = Preferences(lexicon, requests, gather(evidence, focus), looked)
        verbs, odds = _spoken(evidence, first, stretches.turned, usual, stretches.odds)
        asked = np.where(stretches.turned, evidence.asked[first[:, 0, 0]], NOTHING)
        pieces = np.column_stack([asked, first.reshape(len(first), -1)])
        doings = _look_at_doings(lanes, stretches)
        entries = gather(evidence, pieces)
        found = describe(lexicon, entries, doings, verbs[:, 0], preferences, implied)
        return found, verbs, odds

    def candidates(self, named: Named, *, many: bool = False) -> Iterator[str]:
        """Names to try in order, the best first; later ones tell neighbours apart.

        Args:
            named: Of the interval.
            many: Go on through its object words, then say that the work is repeated.
        """
        if not many:
            return named.names()
        verb, objects = named.verb, named.objects
        others = (f"{verb} {word}" for word in objects if word != verb)
        return chain(named.names(), others, (f"repeat {verb} {objects[0]}",))


def _read_request(lane: Lane, lexicon: Lexicon) -> tuple[str, list[str]]:
    """Verb and object words of the first real request."""
    for features in (lane.request, *(step.features for step in lane.steps[:_ASKED_WITHIN])):
        if features and len(features) > RECORD_BYTES:
            found, objects = lexicon.request(features)
            if found or objects:
                return found, objects
    return "", []


def _read_pieces(
    lexicon: Lexicon, lanes: Sequence[Lane], stretches: Stretches
) -> tuple[Rows, Rows, Rows]:
    """Evidence that tells what each lane is about, and that of each interval's first steps.

    Returns:
        By lane all pieces; by interval, step, place in the step; by lane how many steps tell what it
        is about. Each step is read once.
    """
    steps = [step for lane in lanes for step in lane.steps]
    edges = np.cumsum([0, *(len(lane.steps) for lane in lanes)])
    focus, first = _focus_rows(edges), _first_rows(stretches, len(steps))
    needed = np.zeros(len(steps) + 1, np.bool_)
    needed[focus] = needed[first] = True
    rows = np.flatnonzero(needed[:-1])
    place = np.full(len(needed), len(rows))
    place[rows] = np.arange(len(rows))
    pieces = _read_steps(lexicon, [steps[row] for row in rows.tolist()])
    looked = (focus < len(steps)).sum(axis=1)
    return pieces[place[focus]].reshape(len(lanes), -1), pieces[place[first]], looked


def _focus_rows(edges: Rows) -> Rows:
    """Rows of the steps that tell what each lane is about; the last row stands for none."""
    lengths = np.diff(edges)
    strides = np.maximum(1, lengths // _FOCUS_STEPS)
    places = np.arange(_FOCUS_MOST) * strides[:, None]
    rows: Rows = np.where(places < lengths[:, None], edges[:-1, None] + places, edges[-1])
    return rows


def _first_rows(stretches: Stretches, none: int) -> Rows:
    """Rows of the first steps of each interval; `none` where it is shorter."""
    places = stretches.starts[:, None] + np.arange(_EVIDENCE_STEPS)
    rows: Rows = np.where(places < stretches.ends[:, None], places, none)
    return rows


def _read_steps(lexicon: Lexicon, steps: Sequence[Step]) -> Rows:
    """Evidence of each step, in the order in which it counts; a last row that has none."""
    pieces = np.zeros((len(steps) + 1, _PIECES), np.int64)
    pieces[:-1, 0] = lexicon.of_features([step.features for step in steps])
    names = [step.calls[0].tool if step.calls else step.agent for step in steps]
    pieces[:-1, 1] = lexicon.of_names(names)
    for place in range(_CALLS):
        rows = [row for row, step in enumerate(steps) if len(step.calls) > place]
        calls = [steps[row].calls[place] for row in rows]
        pieces[rows, 1 + 2 * place] = lexicon.of_names([call.tool for call in calls])
        pieces[rows, 2 + 2 * place] = lexicon.of_features([call.features for call in calls])
    return pieces


def _look_at_doings(lanes: Sequence[Lane], stretches: Stretches) -> Doings:
    """What the first steps of each interval do."""
    rows = _first_rows(stretches, -1)
    there = rows >= 0
    activities = np.where(there, stretches.activities[rows].astype(np.int64), -1)
    failed = np.logical_or.reduce(there & stretches.failed[rows], axis=1)
    edges = np.cumsum([0, *(len(lane.steps) for lane in lanes)])
    begins = stretches.starts == edges[stretches.lanes]
    ends = stretches.ends == edges[stretches.lanes + 1]
    return Doings(stretches.lanes, activities, failed, there.sum(axis=1), begins, ends)


def _spoken(
    evidence: Evidence,
    pieces: Rows,
    turned: NDArray[np.bool_],
    usual: Rows,
    odds: NDArray[np.float64],
) -> tuple[Rows, NDArray[np.float64]]:
    """Verbs of each interval and their odds: planned, asked at a turn, said, or the usual.

    What is planned or asked for is sure; what is said is likelier than what the steps look like.

    Args:
        evidence: What the numbers in `pieces` mean.
        pieces: By interval, step, place in the step.
        turned: Whether what was asked counts.
        usual: What the steps do, likeliest first. odds: How likely that is.
    """
    planned = evidence.planned[pieces]
    sure = planned[:, :, 0]
    for place in range(_CALLS):
        of_call = planned[:, :, 2 + 2 * place]
        sure = np.where(of_call > 0, of_call, sure)
    asked = np.where(sure[:, 0] > 0, sure[:, 0], evidence.asked_verb[pieces[:, 0, 0]])
    sure[:, 0] = np.where(turned & (asked > 0), asked, sure[:, 0])
    spoken = np.where(sure > 0, sure, evidence.said[pieces[:, :, 0]])
    rows = np.arange(len(spoken))
    at = (spoken > 0).argmax(axis=1)
    first, certain = spoken[rows, at], sure[rows, at] > 0
    verbs, odds = usual.copy(), odds.copy()
    for chosen, known in (
        ((first > 0) & certain, (0.0, -np.inf)),
        ((first > 0) & ~certain & (first != usual[:, 0]), (_SAID, _UNSAID)),
    ):
        verbs[chosen, 1:], verbs[chosen, 0] = usual[chosen, :1], first[chosen]
        odds[chosen] = -np.inf
        odds[chosen, : len(known)] = known[: odds.shape[1]]
    return verbs, odds
