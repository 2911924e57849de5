"""`auto`: plan items and topics first, then boundary scores, nested and named. No model needed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import CODES
from whyflame.content.features import RECORD_BYTES, decode_words
from whyflame.segment.auto.cuts import expected_cuts
from whyflame.segment.auto.gaps import describe_gaps
from whyflame.segment.auto.gui import interaction_cuts
from whyflame.segment.auto.naming import name_lanes
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.topics import topic_cuts
from whyflame.segment.auto.verbs import load_verbs
from whyflame.segment.auto.weights import Head, load_heads
from whyflame.segment.names import Namer, load_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.auto.gaps import Blocks
    from whyflame.segment.auto.table import StepTable
    from whyflame.segment.auto.verbs import VerbModel
    from whyflame.segment.lane import Lane
    from whyflame.segment.names import Wording
    from whyflame.segment.segmenter import Mark

__all__ = ["AutoSegmenter"]

_BATCH_STEPS = 8_192
_USUAL_GRANULARITY = 5.0
_OUTER_SHARE = 1.0
_INNER_SHARE = 0.27
_INNER_MIN_STEPS = 24
_MIN_PLAN_ITEMS = 2
_GUI = CODES["gui"]


class AutoSegmenter:
    """The default segmenter.

    Args:
        config: `granularity` scales how fine intervals are; `names_file` adds to the tables.
        heads, wording, verbs: Other weights than the shipped ones, for cross-validation.
    """

    name = "auto"

    def __init__(
        self,
        config: SegmentConfig,
        heads: Mapping[str, Head] | None = None,
        wording: Wording | None = None,
        verbs: VerbModel | None = None,
    ) -> None:
        self.namer = Namer(load_tables(config.names_file), wording)
        self._heads = heads
        self._verbs = verbs
        self._scale = _USUAL_GRANULARITY / max(config.granularity, 1.0)

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks of one lane."""
        return self.segment_many([lane])[0]

    def segment_many(self, lanes: Sequence[Lane]) -> list[list[Mark]]:
        """Marks of many lanes: the same as one by one, scored together."""
        marks: list[list[Mark]] = []
        batch: list[Lane] = []
        steps = 0
        for lane in lanes:
            if batch and steps + len(lane.steps) > _BATCH_STEPS:
                marks += self._segment_batch(batch)
                batch, steps = [], 0
            batch.append(lane)
            steps += len(lane.steps)
        return marks + self._segment_batch(batch)

    def _segment_batch(self, lanes: Sequence[Lane]) -> list[list[Mark]]:
        table = read_steps(lanes)
        if not len(table.lane):
            return [[] for _ in lanes]
        blocks = describe_gaps(table)
        heads = self._heads or load_heads()
        outer = heads["outer"].score(blocks, blocks.columns())
        tasks = expected_cuts(outer, _OUTER_SHARE * self._scale, table.starts)
        stages = _find_stages(heads["inner"], blocks, table, tasks, _INNER_SHARE * self._scale)
        levels = _find_levels(lanes, table, tasks, stages)
        return name_lanes(self.namer, self._verbs or load_verbs(), lanes, table, levels)


def _find_levels(
    lanes: Sequence[Lane], table: StepTable, tasks: list[list[int]], stages: list[list[int]]
) -> list[list[list[int]]]:
    """Per lane its cut sets, coarse to fine; each is read inside the intervals of those before."""
    found: list[list[list[int]]] = []
    text, lengths = table.model["text"], np.diff(table.starts)
    planned = np.bincount(table.lane[table.plan], minlength=len(lanes)).tolist()
    gestures = np.bincount(table.lane[table.activity == _GUI], minlength=len(lanes))
    by_gestures = (gestures > lengths / 2).tolist()
    for number, (lane, begin) in enumerate(zip(lanes, table.starts.tolist(), strict=False)):
        end = begin + len(lane.steps)
        topics = topic_cuts(text[begin:end], table.arguments[begin:end])
        items = _plan_cuts(lane) if planned[number] else []
        levels = [cuts for cuts in (topics, items) if cuts]
        levels.append(tasks[number])
        interactions = interaction_cuts(lane) if by_gestures[number] else None
        if interactions is not None:
            levels.append(interactions)
        elif stages[number]:
            levels.append(stages[number])
        found.append(levels)
    return found


def _plan_cuts(lane: Lane) -> list[int]:
    """Steps where the plan item in progress changes; empty for fewer than two items."""
    cuts: list[int] = []
    current: tuple[str, ...] = ()
    items = set()
    for position, step in enumerate(lane.steps):
        for call in step.calls:
            if call.features and len(call.features) > RECORD_BYTES:
                planned = decode_words(call.features)[4]
                if planned and planned != current:
                    current = planned
                    items.add(planned)
                    cuts.append(position)
    return cuts if len(items) >= _MIN_PLAN_ITEMS else []


def _find_stages(
    head: Head, blocks: Blocks, table: StepTable, tasks: list[list[int]], share: float
) -> list[list[int]]:
    """Finer cuts inside long tasks, per lane; the inner head scores only these."""
    stages: list[list[int]] = [[] for _ in tasks]
    stretches: list[tuple[int, int, int]] = []
    for number, cuts in enumerate(tasks):
        length = int(table.starts[number + 1] - table.starts[number])
        for left, right in pairwise([0, *cuts, length]):
            if right - left >= _INNER_MIN_STEPS:
                stretches.append((number, left, right))
    if not stretches:
        return stages
    begins = table.starts[:-1].tolist()
    rows = np.concatenate(
        [
            np.arange(begins[number] + left, begins[number] + right)
            for number, left, right in stretches
        ]
    )
    some = blocks.take(rows)
    edges = np.cumsum([0, *(right - left for _, left, right in stretches)])
    found = expected_cuts(head.score(some, some.columns()), share, edges)
    for (number, left, _), cuts in zip(stretches, found, strict=True):
        stages[number] += [left + cut for cut in cuts]
    return stages
