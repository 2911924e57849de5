"""Steps of many lanes as arrays, so that a million operations are scored in one sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from whyflame.content.activity import CODES, activity_of_tool
from whyflame.content.features import HAS_PLAN, RECORD_BYTES, VERSION
from whyflame.segment.auto.roles import role_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_known_hashes: dict[str, int] = {}
_HASHES_LIMIT = 65_536


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


def _hash(text: str) -> int:
    value = _known_hashes.get(text)
    if value is None:
        if len(_known_hashes) >= _HASHES_LIMIT:
            _known_hashes.clear()
        value = _known_hashes[text] = crc32(text.encode("utf-8", "replace")) if text else 0
    return value


def _record(features: bytes | None) -> bytes:
    if features is None or len(features) < RECORD_BYTES or features[0] != VERSION:
        return _EMPTY
    return features[:RECORD_BYTES]


def read_steps(lanes: Sequence[Lane]) -> StepTable:
    """Arrays over all steps of all lanes."""
    starts, models, agents, roles, turns, failed, counts = [0], [], [], [], [], [], []
    records: list[bytes] = []
    tools: list[int] = []
    promised: list[int] = []
    row = 0
    for lane in lanes:
        for step in lane.steps:
            models.append(_record(step.features))
            agents.append(_hash(step.agent))
            roles.append(role_of(step.agent))
            turns.append(step.turn)
            bad, calls = step.failed, step.calls
            for call in calls:
                records.append(_record(call.features))
                tools.append(_hash(call.tool))
                promised.append(activity_of_tool(call.tool))
                bad = bad or call.failed
            failed.append(bad)
            counts.append(len(calls))
        row += len(lane.steps)
        starts.append(row)
    offsets = np.asarray(starts, np.int64)
    model = np.frombuffer(b"".join(models), RECORD) if row else np.zeros(0, RECORD)
    made = np.frombuffer(b"".join(records), RECORD) if records else np.zeros(0, RECORD)
    table = StepTable(
        starts=offsets,
        lane=np.repeat(np.arange(len(lanes)), np.diff(offsets)),
        model=model,
        activity=np.zeros(row, np.uint8),
        tool=np.zeros(row, np.uint32),
        agent=np.asarray(agents, np.uint32),
        role=np.asarray(roles, np.int64),
        failed=np.asarray(failed, np.bool_),
        arguments=np.zeros((row, 4), np.uint64),
        targets=np.zeros((row, 4), np.uint32),
        result=np.zeros(row, np.uint32),
        argument_size=np.zeros(row, np.uint8),
        result_size=np.zeros(row, np.uint8),
        turn=np.asarray(turns, np.int32),
        calls=np.asarray(counts, np.int32),
        plan=np.zeros(row, np.bool_),
    )
    _spread_calls(table, made, np.asarray(tools, np.uint32), np.asarray(promised, np.uint8))
    _fill_silent(table)
    return table


def _spread_calls(
    table: StepTable,
    call: NDArray[np.void],
    tools: NDArray[np.uint32],
    promised: NDArray[np.uint8],
) -> None:
    """Bring what the calls of a step have into its row."""
    has = np.flatnonzero(table.calls)
    if not len(has):
        return
    first = (np.cumsum(table.calls) - table.calls)[has]
    activity = np.where(call["activity"] > 0, call["activity"], promised)
    table.tool[has] = tools[first]
    table.activity[has] = activity[first]
    table.targets[has] = call["targets"][first]
    table.arguments[has] = np.bitwise_or.reduceat(call["arguments"], first, axis=0)
    table.result[has] = np.bitwise_or.reduceat(call["result"], first)
    table.argument_size[has] = np.maximum.reduceat(call["sizes"][:, 2], first)
    table.result_size[has] = np.maximum.reduceat(call["sizes"][:, 3], first)
    table.plan[has] = np.bitwise_or.reduceat(call["flags"] & HAS_PLAN, first) > 0


def _fill_silent(table: StepTable) -> None:
    """Steps without calls: a reply when something was said, an ask when only a prompt is there."""
    silent = table.calls == 0
    said = table.model["sizes"][:, 1] > 0
    asked = table.model["sizes"][:, 0] > 0
    table.activity[silent & said] = _REPLY
    table.activity[silent & ~said & asked] = _ASK
