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
from whyflame.segment.auto.nesting import nest
from whyflame.segment.auto.table import read_steps
from whyflame.segment.auto.topics import topic_cuts
from whyflame.segment.auto.verbs import choose_verbs
from whyflame.segment.auto.weights import Head, load_heads
from whyflame.segment.names import Namer, load_tables
from whyflame.segment.segmenter import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.auto.gaps import Blocks
    from whyflame.segment.auto.table import StepTable
    from whyflame.segment.lane import Lane

__all__ = ["AutoSegmenter"]

_BATCH_STEPS = 8_192
_USUAL_GRANULARITY = 5.0
_OUTER_SHARE = 1.0
_INNER_SHARE = 0.27
_INNER_MIN_STEPS = 16
_MIN_PLAN_ITEMS = 2
_GUI = CODES["gui"]


class AutoSegmenter:
    """The default segmenter.

    Args:
        config: `granularity` scales how fine intervals are; `names_file` adds to the tables.
        heads: Other weights than the shipped ones, for cross-validation.
    """

    name = "auto"

    def __init__(self, config: SegmentConfig, heads: Mapping[str, Head] | None = None) -> None:
        self.namer = Namer(load_tables(config.names_file))
        self._heads = heads
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
        all_levels = [
            self._levels(lane, table, tasks[number], stages[number], number)
            for number, lane in enumerate(lanes)
        ]
        verbs = choose_verbs(table, lanes, all_levels)
        return [
            self._name(lane, levels, verbs[number], table, number)
            for number, (lane, levels) in enumerate(zip(lanes, all_levels, strict=True))
        ]

    def _levels(
        self,
        lane: Lane,
        table: StepTable,
        tasks: list[int],
        stages: list[int],
        number: int,
    ) -> list[list[int]]:
        """Cut sets, coarse to fine; each is read inside the intervals of those before it."""
        begin, end = table.starts[number], table.starts[number + 1]
        topics = topic_cuts(table.model["text"][begin:end], table.arguments[begin:end])
        items = _plan_cuts(lane) if table.plan[begin:end].any() else []
        levels = [cuts for cuts in (topics, items) if cuts]
        levels.append(tasks)
        gestures = int((table.activity[begin:end] == _GUI).sum()) > (end - begin) / 2
        interactions = interaction_cuts(lane) if gestures else None
        if interactions is not None:
            return [*levels, interactions]
        if stages:
            levels.append(stages)
        return levels

    def _name(
        self,
        lane: Lane,
        levels: list[list[int]],
        verbs: dict[tuple[int, int], str],
        table: StepTable,
        number: int,
    ) -> list[Mark]:
        if not lane.steps:
            return []
        topics = self.namer.topics(lane)
        turn, offset = table.turn, int(table.starts[number])

        def candidates(start: int, end: int) -> list[str]:
            turned = start > 0 and turn[offset + start] != turn[offset + start - 1]
            verb, objects = self.namer.name(
                lane.steps[start:end], verbs[start, end], topics, turned=bool(turned)
            )
            return self.namer.candidates(verb, objects)

        named = nest(
            self.namer.root(lane, verbs[0, len(lane.steps)]), len(lane.steps), levels, candidates
        )
        return [Mark(step, path) for step, path in named]


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
