"""From evidence words to a name: verb of the table, then one or two object words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.features import RECORD_BYTES
from whyflame.segment.names.clauses import ClauseReader
from whyflame.segment.names.evidence import NOTHING, Evidence, Lexicon
from whyflame.segment.names.ranking import Preferences, rank, weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.tables import NameTables

    Rows = NDArray[np.int64]

__all__ = ["DEFAULT_ROOT", "Named", "Namer", "Stretches"]

DEFAULT_ROOT = "handle request"
_EVIDENCE_STEPS, _FOCUS_STEPS = 6, 8
_FOCUS_MOST = 2 * _FOCUS_STEPS - 1  # a stride is a whole number
_ASKED_WITHIN = 3  # steps of which one tells the request, where no span of its own does
_SAYS_NOTHING = "work"
_CALLS = 2
_PIECES = 1 + 2 * _CALLS  # evidence of a step: of the model call, of the names and of the calls


@dataclass(frozen=True, slots=True)
class Stretches:
    """Intervals to name.

    Attributes:
        lanes: Position of each one's lane.
        starts, ends: Rows, where the steps of all lanes lie one after the other.
        verbs: What the steps do, by `VerbModel`; words that were said may know better.
        turned: The first step begins a user turn, so what was asked counts.
    """

    lanes: Rows
    starts: Rows
    ends: Rows
    verbs: Sequence[str]
    turned: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Named:
    """Verb of an interval, and object words, best first."""

    verb: str
    objects: list[str]


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
    """

    def __init__(self, tables: NameTables) -> None:
        self.tables = tables
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

    def request(self, lane: Lane) -> frozenset[str]:
        """What the lane is about as a whole: its intervals' names prefer these words."""
        return frozenset(_read_request(lane, self._current())[1])

    def name(self, lanes: Sequence[Lane], stretches: Stretches) -> list[Named]:
        """Verb and object words of intervals; the same for each whatever else is asked.

        Args:
            lanes: All lanes of the batch.
            stretches: Their intervals.
        """
        lexicon = self._current()
        requests = [_read_request(lane, lexicon)[1] for lane in lanes]
        usual_verbs = np.asarray([lexicon.number(verb) for verb in stretches.verbs], np.int64)
        focus, first = _read_pieces(lexicon, lanes, stretches)
        evidence = lexicon.arrays()
        preferences = Preferences(lexicon, requests, weigh(evidence, focus))
        verbs = _spoken(evidence, first, stretches.turned, usual_verbs)
        asked = np.where(stretches.turned, evidence.asked[first[:, 0, 0]], NOTHING)
        pieces = np.column_stack([asked, first.reshape(len(first), -1)])
        found = weigh(evidence, pieces, doubled=1 + _PIECES)
        ranked = rank(lexicon, found, stretches.lanes, verbs, preferences)
        usual = [sorted(words)[:1] or [_SAYS_NOTHING] for words in requests]
        said = [lexicon.words[verb] for verb in verbs.tolist()]
        return [
            Named(verb, objects or usual[lane])
            for verb, objects, lane in zip(said, ranked, stretches.lanes.tolist(), strict=True)
        ]

    def candidates(self, named: Named, *, many: bool = False) -> list[str]:
        """Names to try in order, the plainest first; later ones tell neighbours apart.

        One object word: measured on the public coding runs, a second one is right more often but
        hardly any two runs then share a name.

        Args:
            named: Verb of the table, and objects, best first.
            many: Go on through all objects, then say that the work is repeated.
        """
        verb, objects = named.verb, named.objects
        names = [f"{verb} {word}" for word in (objects if many else objects[:3])]
        if many:
            names.append(f"repeat {verb} {objects[0]}")
        return names


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
) -> tuple[Rows, Rows]:
    """Evidence that tells what each lane is about, and that of each interval's first steps.

    Returns:
        By lane all pieces; by interval, step, place in the step. Each step is read once.
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
    return pieces[place[focus]].reshape(len(lanes), -1), pieces[place[first]]


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


def _spoken(evidence: Evidence, pieces: Rows, turned: NDArray[np.bool_], usual: Rows) -> Rows:
    """Verb of each interval: the first that is planned, asked at a turn, or said; else the usual.

    Args:
        evidence: What the numbers in `pieces` mean.
        pieces: By interval, step, place in the step.
        turned: Whether what was asked counts.
        usual: What the steps do.
    """
    planned = evidence.planned[pieces]
    verbs = planned[:, :, 0]
    for place in range(_CALLS):
        of_call = planned[:, :, 2 + 2 * place]
        verbs = np.where(of_call > 0, of_call, verbs)
    said = np.where(verbs > 0, verbs, evidence.said[pieces[:, :, 0]])
    asked = np.where(verbs[:, 0] > 0, verbs[:, 0], evidence.asked_verb[pieces[:, 0, 0]])
    said[:, 0] = np.where(turned & (asked > 0), asked, said[:, 0])
    first = said[np.arange(len(said)), (said > 0).argmax(axis=1)]
    chosen: Rows = np.where(first > 0, first, usual)
    return chosen
