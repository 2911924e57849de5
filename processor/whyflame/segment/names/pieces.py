"""Which evidence tells about lanes and intervals, and what the steps of an interval do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.features import RECORD_BYTES
from whyflame.segment.names.signals import PER_STEP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.evidence import Evidence, Lexicon

    Rows = NDArray[np.int64]

__all__ = [
    "CALLS", "Doings", "Entries", "Stretches", "gather", "look_at_doings", "read_pieces",
    "read_request",
]  # fmt: skip

CALLS = (PER_STEP - 1) // 2
_EVIDENCE_STEPS, _FOCUS_STEPS = 6, 8
_FOCUS_MOST = 2 * _FOCUS_STEPS - 1  # a stride is a whole number
_ASKED_WITHIN = 3  # steps of which one tells the request, where no span of its own does


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
class Doings:
    """What the looked-at steps of groups do.

    Attributes:
        lanes: Position of each group's lane.
        activities: By group and step, the code; -1 where there is no step.
        failed: By group, whether any step failed.
        lengths: How many steps there are.
    """

    lanes: Rows
    activities: Rows
    failed: NDArray[np.bool_]
    lengths: Rows


@dataclass(slots=True)
class Entries:
    """Words met in groups, one row a meeting.

    Attributes:
        groups, words: Which group, number of the word.
        columns, places: Which piece of the group, and where the word stands in it.
    """

    groups: Rows
    words: Rows
    columns: Rows
    places: Rows


def gather(evidence: Evidence, pieces: Rows) -> Entries:
    """Words of all pieces of each group; a row of `pieces` is a group's numbers of evidence."""
    lengths = evidence.lengths[pieces].ravel()
    filled = np.flatnonzero(lengths)
    counts = lengths[filled]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    begins = evidence.starts[pieces.ravel()[filled]] - (ends - counts)
    at = np.arange(total) + np.repeat(begins, counts)
    groups, columns = np.divmod(filled, pieces.shape[1] or 1)
    return Entries(
        np.repeat(groups, counts),
        evidence.words[at],
        np.repeat(columns, counts),
        evidence.places[at],
    )


def read_request(lane: Lane, lexicon: Lexicon) -> tuple[str, list[str]]:
    """Verb and object words of the first real request."""
    for features in (lane.request, *(step.features for step in lane.steps[:_ASKED_WITHIN])):
        if features and len(features) > RECORD_BYTES:
            found, objects = lexicon.request(features)
            if found or objects:
                return found, objects
    return "", []


def read_pieces(
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


def look_at_doings(stretches: Stretches) -> Doings:
    """What the first steps of each interval do."""
    rows = _first_rows(stretches, -1)
    there = rows >= 0
    activities = np.where(there, stretches.activities[rows].astype(np.int64), -1)
    failed = np.logical_or.reduce(there & stretches.failed[rows], axis=1)
    return Doings(stretches.lanes, activities, failed, there.sum(axis=1))


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
    pieces = np.zeros((len(steps) + 1, PER_STEP), np.int64)
    pieces[:-1, 0] = lexicon.of_features([step.features for step in steps])
    names = [step.calls[0].tool if step.calls else step.agent for step in steps]
    pieces[:-1, 1] = lexicon.of_names(names)
    for place in range(CALLS):
        rows = [row for row, step in enumerate(steps) if len(step.calls) > place]
        calls = [steps[row].calls[place] for row in rows]
        pieces[rows, 1 + 2 * place] = lexicon.of_names([call.tool for call in calls])
        pieces[rows, 2 + 2 * place] = lexicon.of_features([call.features for call in calls])
    return pieces
