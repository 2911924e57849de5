"""Steps of many lanes as arrays, so that a million operations are scored in one sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from whyflame.content.activity import ACTIVITIES, CODES, activity_of_tool
from whyflame.content.features import HAS_PLAN, RECORD_BYTES, VERSION
from whyflame.content.vocabulary import LEADS
from whyflame.segment.auto.roles import role_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.lane import Lane

__all__ = ["StepTable", "read_steps"]

RECORD = np.dtype(
    [
        ("version", "u1"),
        ("flags", "u1"),
        ("activity", "u1"),
        ("lead", "u1"),
        ("said", "<u4"),
        ("result", "<u4"),
        ("asked", "<u4"),
        ("sizes", "u1", 4),
        ("users", "u1"),
        ("done", "u1"),
        ("spare", "<u2"),
        ("targets", "<u4", 4),
        ("text", "<u8", 4),
        ("arguments", "<u8", 4),
    ]
)
_EMPTY = bytes([VERSION]) + bytes(RECORD_BYTES - 1)
_REPLY, _ASK, _NONE = CODES["reply"], CODES["ask"], CODES["none"]
_TOOL = CODES["tool"]
_MEMO_LIMIT = 65_536


class _Memo(dict[str, int]):
    """A function of short strings, remembered; emptied when full."""

    def __init__(self, work_out: Callable[[str], int]) -> None:
        self._work_out = work_out

    def __missing__(self, text: str) -> int:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        value = self[text] = self._work_out(text)
        return value


def _find_hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace")) if text else 0


_hash_of = _Memo(_find_hash).__getitem__
_role_of = _Memo(role_of).__getitem__
_activity_of = _Memo(activity_of_tool).__getitem__


@dataclass(slots=True)
class StepTable:
    """One row a step, lanes one after the other.

    Attributes:
        starts: Row of each lane's first step, with the total as the last entry.
        model: Record of the model call; call: record of the first call that has one.
        activity: Of the first telling call, else reply, ask or none.
        tool, agent: Hashes of the names; role: what the agent's name says (`roles`).
        failed: The model call or any call failed.
        arguments, targets, result: Over all calls of the step.
        turn: Turn number; calls: how many calls.
    """

    starts: NDArray[np.int64]
    lane: NDArray[np.int64]
    model: NDArray[np.void]
    activity: NDArray[np.uint8]
    tool: NDArray[np.uint32]
    agent: NDArray[np.uint32]
    role: NDArray[np.int64]
    failed: NDArray[np.bool_]
    arguments: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    result: NDArray[np.uint32]
    argument_size: NDArray[np.uint8]
    result_size: NDArray[np.uint8]
    turn: NDArray[np.int32]
    calls: NDArray[np.int32]
    plan: NDArray[np.bool_]


def read_steps(lanes: Sequence[Lane]) -> StepTable:
    """Arrays over all steps of all lanes."""
    steps = [step for lane in lanes for step in lane.steps]
    calls = [call for step in steps for call in step.calls]
    agents, tools = [step.agent for step in steps], [call.tool for call in calls]
    rows = len(steps)
    starts = np.zeros(len(lanes) + 1, np.int64)
    np.cumsum([len(lane.steps) for lane in lanes], out=starts[1:])
    table = StepTable(
        starts=starts,
        lane=np.repeat(np.arange(len(lanes)), np.diff(starts)),
        model=_read_records([step.features for step in steps]),
        activity=np.zeros(rows, np.uint8),
        tool=np.zeros(rows, np.uint32),
        agent=np.fromiter(map(_hash_of, agents), np.uint32, rows),
        role=np.fromiter(map(_role_of, agents), np.int64, rows),
        failed=np.asarray([step.failed for step in steps], np.bool_),
        arguments=np.zeros((rows, 4), np.uint64),
        targets=np.zeros((rows, 4), np.uint32),
        result=np.zeros(rows, np.uint32),
        argument_size=np.zeros(rows, np.uint8),
        result_size=np.zeros(rows, np.uint8),
        turn=np.asarray([step.turn for step in steps], np.int64).astype(np.int32),
        calls=np.asarray([len(step.calls) for step in steps], np.int32),
        plan=np.zeros(rows, np.bool_),
    )
    if calls:
        _spread_calls(
            table,
            _read_records([call.features for call in calls]),
            np.fromiter(map(_hash_of, tools), np.uint32, len(calls)),
            np.fromiter(map(_activity_of, tools), np.uint8, len(calls)),
            np.asarray([call.failed for call in calls], np.bool_),
        )
    _fill_silent(table)
    return table


def _read_records(features: list[bytes | None]) -> NDArray[np.void]:
    """The fixed parts; what is missing, or of another version, is empty."""
    parts = [
        one[:RECORD_BYTES] if one and len(one) >= RECORD_BYTES and one[0] == VERSION else _EMPTY
        for one in features
    ]
    return _without_unknown_codes(np.frombuffer(b"".join(parts), RECORD))


def _without_unknown_codes(records: NDArray[np.void]) -> NDArray[np.void]:
    """Codes that this version does not know are some tool, and no telling verb."""
    kinds, leads = records["activity"] >= len(ACTIVITIES), records["lead"] >= len(LEADS)
    if kinds.any() or leads.any():
        records = records.copy()
        records["activity"][kinds] = _TOOL
        records["lead"][leads] = 0
    return records


def _spread_calls(
    table: StepTable,
    call: NDArray[np.void],
    tools: NDArray[np.uint32],
    promised: NDArray[np.uint8],
    failed: NDArray[np.bool_],
) -> None:
    """Bring what the calls of a step have into its row."""
    has = np.flatnonzero(table.calls)
    first = (np.cumsum(table.calls) - table.calls)[has]
    activity = np.where(call["activity"] > 0, call["activity"], promised)
    table.tool[has] = tools[first]
    table.activity[has] = activity[first]
    table.targets[has] = call["targets"][first]
    table.arguments[has] = np.bitwise_or.reduceat(call["arguments"], first, axis=0)
    table.result[has] = np.bitwise_or.reduceat(call["result"], first)
    table.argument_size[has] = np.maximum.reduceat(call["sizes"][:, 2], first)
    table.result_size[has] = np.maximum.reduceat(call["sizes"][:, 3], first)
    table.failed[has] |= np.logical_or.reduceat(failed, first)
    table.plan[has] = np.bitwise_or.reduceat(call["flags"] & HAS_PLAN, first) > 0


def _fill_silent(table: StepTable) -> None:
    """Steps without calls: a reply when something was said, an ask when only a prompt is there."""
    silent = table.calls == 0
    said = table.model["sizes"][:, 1] > 0
    asked = table.model["sizes"][:, 0] > 0
    table.activity[silent & said] = _REPLY
    table.activity[silent & ~said & asked] = _ASK
