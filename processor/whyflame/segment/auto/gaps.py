"""Generic features of every gap between two steps; what the shipped weights are over.

Nothing here knows a tool, an agent or a data set by name. Row t describes the gap before step t;
rows of a lane's first step are meaningless and never cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import ACTIVITIES, CODES
from whyflame.content.vocabulary import CUES, LEADS
from whyflame.segment.auto.bags import compare, count, drop_common, overlap, windows
from whyflame.segment.auto.places import (
    find_first,
    find_last_same,
    find_neighbour,
    keys_in_lanes,
)
from whyflame.segment.auto.roles import ROLE_COUNT
from whyflame.segment.auto.speakers import describe_speakers, find_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable

    Rows = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float32]

__all__ = ["Blocks", "describe_gaps"]

_KINDS, _LEADS, _ROLES = len(ACTIVITIES), len(LEADS), ROLE_COUNT
_NEAR = 2
_SHORT_PROMPT = 6  # bit length of the bytes: under 64
_SIZES = 16
_PLACES = 10
_SMALL = 200
_FOR_SETTINGS = "speakers"
_BLOCK = 512
_SIZE_STEPS = 4  # sizes are bit lengths: four are a text sixteen times as long


@dataclass(frozen=True)
class Blocks:
    """All features of all gaps.

    Attributes:
        codes: Categorical features: a code per row, and how many codes there are.
        numbers: Numeric features: a block of columns each.
        matrix: The numeric blocks side by side.
        settings: Setting of the row's lane (`speakers`).
    """

    codes: dict[str, tuple[Rows, int]]
    numbers: dict[str, Floats]
    matrix: Floats
    settings: Rows

    def take(self, rows: Rows) -> Blocks:
        """The same features of some rows."""
        codes = {name: (values[rows], size) for name, (values, size) in self.codes.items()}
        matrix = self.matrix[rows]
        edges = np.cumsum([block.shape[1] for block in self.numbers.values()])[:-1]
        parts = np.split(matrix, edges, axis=1)
        numbers = dict(zip(self.numbers, parts, strict=True))
        return Blocks(codes, numbers, matrix, self.settings[rows])

    def columns(self) -> Floats:
        """What trees look at: codes of small categories, then the numbers; a row a column.

        Not who speaks: settings tell the logistic models apart, and trees gained nothing by them.
        """
        small = [codes for codes, size in self.codes.values() if size < _SMALL]
        rows, numbers = self.matrix.shape
        numbers -= self.numbers[_FOR_SETTINGS].shape[1]
        columns = np.empty((len(small) + numbers, rows), np.float32)
        for place, codes in enumerate(small):
            columns[place] = codes
        for first in range(0, rows, _BLOCK):  # a whole transposition would miss the cache
            block = slice(first, first + _BLOCK)
            columns[len(small) :, block] = self.matrix[block, :numbers].T
        return columns


def describe_gaps(table: StepTable) -> Blocks:
    """All features of all gaps."""
    rows = len(table.lane)
    same = np.zeros(rows, bool)
    same[1:] = table.lane[1:] == table.lane[:-1]
    before = find_neighbour(table, -1)
    turned = _turned(table, same)
    text = drop_common(table.model["text"], table.starts, table.lane)
    arguments = drop_common(table.arguments, table.starts, table.lane)
    numbers = {
        "cues_after": _bits(table.model["said"]),
        "cues_asked": _bits(np.where(turned, table.model["asked"], 0)),
        "cues_result_before": _bits(table.result[before]),
        "cues_said_before": _bits(table.model["said"][before]),
        "links": _links(table, before),
        "topic": _topic(text, arguments, table),
        "returns": _returns(text | arguments, table),
        "place": _place(table, same, turned),
        "state": _state(table, before, same, turned),
        _FOR_SETTINGS: describe_speakers(table),  # the last: `columns` leaves it out
    }
    matrix = np.concatenate([*numbers.values()], axis=1)
    return Blocks(_codes(table, before), numbers, matrix, find_settings(table))


def _codes(table: StepTable, before: Rows) -> dict[str, tuple[Rows, int]]:
    kind, role = table.activity.astype(np.int64), table.role
    lead = table.model["lead"].astype(np.int64)
    rows = len(kind)
    after, before2 = find_neighbour(table, 1), find_neighbour(table, -2)
    said = np.minimum(table.model["sizes"][:, 1].astype(np.int64), _SIZES - 1)
    asked = np.minimum(table.model["sizes"][:, 0].astype(np.int64), _SIZES - 1)
    place = np.minimum(np.arange(rows) - table.starts[table.lane], _PLACES - 1)
    roles = role * _ROLES + role[before]
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
        "said_size": (said, _SIZES),
        "said_size_before": (said[before], _SIZES),
        "asked_size": (asked, _SIZES),
        "role": (role, _ROLES),
        "role_before": (role[before], _ROLES),
        "role_next": (role[after], _ROLES),
        "roles": (roles, _ROLES**2),
        "roles3": (roles * _ROLES + role[before2], _ROLES**3),
        "roles_next": (role[after] * _ROLES + role, _ROLES**2),
        "place": (place, _PLACES),
        "place_role": (place * _ROLES + role, _PLACES * _ROLES),
    }


def _bits(values: NDArray[np.uint32]) -> Floats:
    columns = np.ascontiguousarray(values.astype("<u4")).view(np.uint8).reshape(len(values), 4)
    bits = np.unpackbits(columns, axis=1, bitorder="little")[:, : len(CUES)]
    return np.asarray(bits, np.float32)


def _turned(table: StepTable, same: Bools) -> Bools:
    turned = np.zeros(len(same), bool)
    turned[1:] = (table.turn[1:] != table.turn[:-1]) & same[1:]
    return turned


def _links(table: StepTable, before: Rows) -> Floats:
    """What the two steps share."""
    text, arguments = table.model["text"], table.arguments
    shared, fresh, known = _target_links(table, before)
    same_kind, says = table.activity == table.activity[before], count(text) > 0
    columns = [
        same_kind,
        table.tool == table.tool[before],
        table.agent == table.agent[before],
        table.model["lead"] == table.model["lead"][before],
        overlap(arguments, arguments[before]),
        overlap(text, text[before]),
        overlap(text, arguments[before]),
        says,
        says[before],
        count(arguments) > 0,
        shared,
        fresh,
        known,
        same_kind & says,
        ~same_kind & says,
    ]
    return np.column_stack(columns).astype(np.float32)


def _target_links(table: StepTable, before: Rows) -> tuple[Bools, Bools, Bools]:
    """Whether a target is shared with the step before, new in the lane, or an older one."""
    targets = table.targets.astype(np.int64)
    rows = len(targets)
    earlier = targets[before]
    match = (targets[:, :, None] == earlier[:, None, :]) & (targets[:, :, None] > 0)
    shared: Bools = match.any(axis=(1, 2))
    flat = targets.ravel()
    first = find_first(np.where(flat > 0, flat + (np.repeat(table.lane, 4) << 33), -1))
    fresh = np.any((first & (flat > 0)).reshape(rows, 4), axis=1)
    known = np.any((~first & (flat > 0)).reshape(rows, 4), axis=1) & ~shared
    return shared, np.asarray(fresh, bool), np.asarray(known, bool)


def _topic(text: NDArray[np.uint64], arguments: NDArray[np.uint64], table: StepTable) -> Floats:
    """Likeness of the words before and after the gap: of texts, arguments, both; several widths."""
    said: list[Floats] = []
    done: list[Floats] = []
    both: list[Floats] = []
    pairs = zip(windows(text, table.lane), windows(arguments, table.lane), strict=True)
    for (left, right), (left2, right2) in pairs:
        said += compare(left, right)
        done += compare(left2, right2)
        both += compare(left | left2, right | right2)
    return np.column_stack([*said, *done, *both])


def _returns(bags: NDArray[np.uint64], table: StepTable) -> Floats:
    """How the step compares with the last one of the same agent, and of the same tool."""
    rows = len(bags)
    index = np.arange(rows)
    columns: list[Floats | Bools] = []
    same_agent = find_last_same(keys_in_lanes(table.agent, table))
    for last in (same_agent, find_last_same(keys_in_lanes(table.tool, table))):
        seen, at = last >= 0, np.maximum(last, 0)
        columns += [seen, seen * overlap(bags, bags[at]),
                    np.log1p(np.where(seen, index - last, 0)).astype(np.float32)]  # fmt: skip
    after = find_neighbour(table, 1)
    last = same_agent[after]
    follows = (last >= 0) & (after > index)
    columns.append(follows * overlap(bags[after], bags[np.maximum(last, 0)]))
    return np.column_stack(columns).astype(np.float32)


def _place(table: StepTable, same: Bools, turned: Bools) -> Floats:
    """Where in the lane, and how long the present run of equal activities is."""
    rows = len(same)
    index = np.arange(rows)
    start = table.starts[table.lane]
    length = np.maximum(table.starts[table.lane + 1] - start, 1)
    position = (index - start).astype(np.float32)
    repeats = np.zeros(rows, bool)
    repeats[1:] = table.activity[1:] == table.activity[:-1]
    columns = [
        position / length,
        position <= 1,
        position <= _NEAR,
        (start + length - index) <= 1,
        (start + length - index) <= _NEAR,
        np.log1p(position),
        np.log1p(length),
        np.log1p(_before(_since(~(same & repeats)))),
        np.log1p(_before(_since((count(table.model["text"]) > 0) | ~same))),
        np.log1p(_before(_since(turned | ~same))),
    ]
    return np.column_stack(columns).astype(np.float32)


def _since(event: Bools) -> Floats:
    """Steps since the last event, counting from 1 at the event itself."""
    index = np.arange(len(event))
    last = np.maximum.accumulate(np.where(event, index, 0))
    return (index - last + 1).astype(np.float32)


def _before(values: Floats) -> Floats:
    shifted = np.zeros_like(values)
    shifted[1:] = values[:-1]
    return shifted


def _state(table: StepTable, before: Rows, same: Bools, turned: Bools) -> Floats:
    """Failures, turns, speakers, sizes."""
    failed = table.failed
    said = table.model["sizes"][:, 1].astype(np.float32)
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
        find_first(keys_in_lanes(table.agent, table)) & same,
        find_first(keys_in_lanes(table.tool, table)) & same & (table.calls > 0),
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
        (said - said[before]) / _SIZE_STEPS,
        (said[find_neighbour(table, 1)] - said) / _SIZE_STEPS,
    ]
    return np.column_stack(columns).astype(np.float32)
