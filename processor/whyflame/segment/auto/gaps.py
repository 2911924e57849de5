"""Generic features of every gap between two steps; what the shipped weights are over.

Nothing here knows a tool, an agent or a data set by name. Row t describes the gap before step t;
rows of a lane's first step are meaningless and never cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import ACTIVITIES, CODES
from whyflame.content.vocabulary import CUES, LEADS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable

__all__ = ["Blocks", "describe_gaps"]

Blocks = tuple[dict[str, tuple["NDArray[np.int64]", int]], dict[str, "NDArray[np.float32]"]]
"""Categorical blocks (codes, how many) and numeric blocks (one column a value)."""

_WINDOW = 3
_KINDS, _LEADS = len(ACTIVITIES), len(LEADS)
_NEAR = 2
_SHORT_PROMPT = 6  # bit length of the bytes: under 64
_CUES = len(CUES)


def describe_gaps(table: StepTable) -> Blocks:
    """All features of all gaps."""
    rows = len(table.lane)
    same = np.zeros(rows, bool)
    same[1:] = table.lane[1:] == table.lane[:-1]
    before = np.maximum(np.arange(rows) - 1, 0)
    categories = _categories(table, before)
    numbers = {
        "cues_after": _bits(table.model["said"]),
        "cues_asked": _bits(np.where(_turned(table, same), table.model["asked"], 0)),
        "cues_result_before": _bits(table.result[before]),
        "cues_said_before": _bits(table.model["said"][before]),
        "links": _links(table, before),
        "windows": _windows(table),
        "place": _place(table, same),
        "state": _state(table, before, same),
    }
    return categories, numbers


def _categories(
    table: StepTable, before: NDArray[np.int64]
) -> dict[str, tuple[NDArray[np.int64], int]]:
    kind = table.activity.astype(np.int64)
    lead = table.model["lead"].astype(np.int64)
    rows = len(kind)
    after = np.minimum(np.arange(rows) + 1, max(rows - 1, 0))
    before2 = np.maximum(before - 1, 0)
    size = np.minimum(table.model["sizes"][:, 1].astype(np.int64), 15)
    return {
        "kind": (kind, _KINDS),
        "kind_before": (kind[before], _KINDS),
        "kinds": (kind[before] * _KINDS + kind, _KINDS * _KINDS),
        "kind_before2": (kind[before2], _KINDS),
        "kind_next": (kind[after], _KINDS),
        "lead": (lead, _LEADS),
        "lead_before": (lead[before], _LEADS),
        "leads": (lead[before] * _LEADS + lead, _LEADS * _LEADS),
        "lead_kind": (lead * _KINDS + kind, _LEADS * _KINDS),
        "said_size": (size, 16),
        "said_size_before": (size[before], 16),
        "asked_size": (np.minimum(table.model["sizes"][:, 0].astype(np.int64), 15), 16),
    }


def _bits(values: NDArray[np.uint32]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(values.astype("<u4")).view(np.uint8).reshape(len(values), 4)
    return np.unpackbits(columns, axis=1, bitorder="little")[:, :_CUES].astype(np.float32)


def _count(bags: NDArray[np.uint64]) -> NDArray[np.float32]:
    counts: NDArray[np.float32] = np.bitwise_count(bags).sum(axis=1, dtype=np.float32)
    return counts


def _overlap(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Jaccard of two bags; 0 when either is empty."""
    union = _count(one | two)
    return (_count(one & two) / np.maximum(union, 1)).astype(np.float32)


def _turned(table: StepTable, same: NDArray[np.bool_]) -> NDArray[np.bool_]:
    turned = np.zeros(len(same), bool)
    turned[1:] = (table.turn[1:] != table.turn[:-1]) & same[1:]
    return turned


def _links(table: StepTable, before: NDArray[np.int64]) -> NDArray[np.float32]:
    """What the two steps share."""
    text, arguments = table.model["text"], table.arguments
    shared, fresh, known = _target_links(table, before)
    columns = [
        table.activity == table.activity[before],
        table.tool == table.tool[before],
        table.agent == table.agent[before],
        table.model["lead"] == table.model["lead"][before],
        _overlap(arguments, arguments[before]),
        _overlap(text, text[before]),
        _overlap(text, arguments[before]),
        _count(text) > 0,
        _count(text[before]) > 0,
        _count(arguments) > 0,
        shared,
        fresh,
        known,
        (table.activity == table.activity[before]) & (_count(text) > 0),
        (table.activity != table.activity[before]) & (_count(text) > 0),
    ]
    return np.column_stack(columns).astype(np.float32)


def _target_links(
    table: StepTable, before: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a target is shared with the step before, new in the lane, or an older one."""
    targets = table.targets.astype(np.int64)
    rows = len(targets)
    earlier = targets[before]
    match = (targets[:, :, None] == earlier[:, None, :]) & (targets[:, :, None] > 0)
    shared: NDArray[np.bool_] = match.any(axis=(1, 2))
    flat = targets.ravel()
    keys = np.where(flat > 0, flat + (np.repeat(table.lane, 4) << 33), -1)
    _, first = np.unique(keys, return_index=True)
    seen_first = np.zeros(rows * 4, bool)
    seen_first[first] = True
    fresh: NDArray[np.bool_] = (seen_first & (flat > 0)).reshape(rows, 4).any(axis=1)
    known: NDArray[np.bool_] = (~seen_first & (flat > 0)).reshape(rows, 4).any(axis=1)
    return shared, fresh, np.logical_and(known, ~shared)


def _windows(table: StepTable) -> NDArray[np.float32]:
    """Overlap of the words of the steps before and after the gap, for two widths."""
    columns: list[NDArray[np.float32]] = []
    for bags in (table.model["text"], table.arguments):
        for width in (_WINDOW, 2 * _WINDOW):
            left, right = _join(bags, table, width)
            overlap = _overlap(left, right)
            columns += [overlap, (_count(bags) > 0).astype(np.float32) * overlap]
    return np.column_stack(columns)


def _join(
    bags: NDArray[np.uint64], table: StepTable, width: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Union of the `width` bags before each gap and from it on, inside the lane."""
    rows = len(bags)
    left = np.zeros_like(bags)
    right = bags.copy()
    for distance in range(1, width + 1):
        if distance >= rows:
            break
        together = (table.lane[distance:] == table.lane[:-distance])[:, None]
        left[distance:] |= np.where(together, bags[:-distance], 0)
        if distance < width:
            right[:-distance] |= np.where(together, bags[distance:], 0)
    return left, right


def _place(table: StepTable, same: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Where in the lane, and how long the present run of equal activities is."""
    rows = len(same)
    index = np.arange(rows)
    start = table.starts[table.lane]
    length = np.maximum(table.starts[table.lane + 1] - start, 1)
    position = (index - start).astype(np.float32)
    run = _since(~(same & _equal_before(table.activity)))
    said = _since((_count(table.model["text"]) > 0) | ~same)
    turn = _since(_turned(table, same) | ~same)
    columns = [
        position / length,
        position <= 1,
        position <= _NEAR,
        (start + length - index) <= 1,
        (start + length - index) <= _NEAR,
        np.log1p(position),
        np.log1p(length),
        np.log1p(_before(run)),
        np.log1p(_before(said)),
        np.log1p(_before(turn)),
    ]
    return np.column_stack(columns).astype(np.float32)


def _equal_before(values: NDArray[np.uint8]) -> NDArray[np.bool_]:
    equal = np.zeros(len(values), bool)
    equal[1:] = values[1:] == values[:-1]
    return equal


def _since(event: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Steps since the last event, counting from 1 at the event itself."""
    index = np.arange(len(event))
    last = np.maximum.accumulate(np.where(event, index, 0))
    return (index - last + 1).astype(np.float32)


def _before(values: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = np.zeros_like(values)
    shifted[1:] = values[:-1]
    return shifted


def _state(
    table: StepTable, before: NDArray[np.int64], same: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Failures, turns, speakers, plans."""
    failed, turned = table.failed, _turned(table, same)
    new_agent = _first_of(table.agent, table)
    new_tool = _first_of(table.tool, table)
    result_only = (table.argument_size == 0) & (table.result_size > 0) & (table.calls > 0)
    asks = table.activity == CODES["ask"]
    columns = [
        failed[before],
        failed,
        failed[before] & ~failed,
        failed[before] & failed,
        turned,
        turned & (table.model["asked"] > 0) & (table.model["sizes"][:, 0] > _SHORT_PROMPT),
        asks[before],
        asks,
        new_agent & same,
        new_tool & same & (table.calls > 0),
        result_only,
        result_only[before],
        (table.tool == table.tool[before]) & (table.calls > 0),
        table.calls == 0,
        table.calls[before] == 0,
        table.calls > 1,
        table.result_size[before] == 0,
        np.minimum(table.result_size[before], 16) / 16,
        np.minimum(table.argument_size, 16) / 16,
        np.minimum(table.argument_size[before], 16) / 16,
    ]
    return np.column_stack(columns).astype(np.float32)


def _first_of(values: NDArray[np.uint32], table: StepTable) -> NDArray[np.bool_]:
    """True where a value appears for the first time in its lane."""
    keys = values.astype(np.int64) + (table.lane << 33)
    _, first = np.unique(keys, return_index=True)
    mark = np.zeros(len(values), bool)
    mark[first] = True
    return mark
