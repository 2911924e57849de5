"""Cut sets of many lanes to named marks: verbs by the model, objects by the namer, then nested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.auto.nesting import nest
from whyflame.segment.auto.verbs import list_spans
from whyflame.segment.names import Stretches
from whyflame.segment.segmenter import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable
    from whyflame.segment.auto.verbs import Spans, VerbChoice, VerbModel
    from whyflame.segment.lane import Lane
    from whyflame.segment.names import Named, Namer

__all__ = ["name_lanes", "nest_named", "stretches_of"]


def name_lanes(
    namer: Namer,
    model: VerbModel,
    lanes: Sequence[Lane],
    table: StepTable,
    levels: Sequence[Sequence[Sequence[int]]],
) -> list[list[Mark]]:
    """Marks of every lane, nested as its cut sets say.

    Args:
        namer: Makes the names.
        model: Knows the verbs.
        lanes: The lanes.
        table: Their steps.
        levels: Per lane its cut sets, coarse to fine.
    """
    spans = list_spans(table, levels)
    verbs = model.choose(table, lanes, spans.starts, spans.ends)
    turned = np.zeros(len(table.turn) + 1, np.bool_)
    turned[1:-1] = (table.turn[1:] != table.turn[:-1]) & (table.lane[1:] == table.lane[:-1])
    stretches = stretches_of(spans, table, verbs, turned[spans.starts])
    named = namer.name(lanes, stretches)
    marks: list[list[Mark]] = []
    likeliest, last = verbs.codes[:, 0].tolist(), 0
    for lane, pairs, cut_sets in zip(lanes, spans.pairs, levels, strict=True):
        first, last = last, last + len(pairs)
        names = dict(zip(pairs, named[first:last], strict=True))
        root = namer.root(
            lane, verbs.verbs[likeliest[first]] if pairs else ""
        )  # the first interval is the lane
        marks.append(nest_named(namer, root, len(lane.steps), cut_sets, names))
    return marks


def stretches_of(
    spans: Spans, table: StepTable, verbs: VerbChoice, turned: NDArray[np.bool_]
) -> Stretches:
    """The intervals as the namer wants them."""
    return Stretches(
        spans.lanes,
        spans.starts,
        spans.ends,
        verbs.verbs,
        verbs.codes,
        verbs.odds,
        turned,
        table.activity,
        table.failed,
    )


def nest_named(
    namer: Namer,
    root: str,
    steps: int,
    levels: Sequence[Sequence[int]],
    names: Mapping[tuple[int, int], Named],
    *,
    many: bool = False,
) -> list[Mark]:
    """Marks of one lane.

    Args:
        namer: Makes the names.
        root: Name of the whole lane.
        steps: Length of the lane.
        levels: Its cut sets, coarse to fine.
        names: What each interval that nesting may ask for can be called.
        many: See `Namer.candidates`.
    """
    if not steps:
        return []

    def candidates(start: int, end: int) -> Iterator[str]:
        return namer.candidates(names[start, end], many=many)

    return [Mark(step, path) for step, path in nest(root, steps, levels, candidates)]
