"""Who speaks: the setting of a lane, and what the order of its speakers says about a gap.

Settings are told apart by how many speak and how often a user does, never by names. A hand-off
means much where several agents speak, and a user's turn where users come back, so that each setting
has weights of its own beside those that all share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.auto.places import find_first, find_neighbour, keys_in_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whyflame.segment.auto.table import StepTable

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float32]

__all__ = ["ALONE", "CONVERSATION", "SETTINGS", "TEAM", "describe_speakers", "find_settings"]

ALONE, CONVERSATION, TEAM = range(3)
SETTINGS = 3
_TURNS = 2  # after the first
_STEPS_A_TURN = 8  # with more, an agent works alone and is asked again at times
_TEAM = 3  # a user and an agent are two


def find_settings(table: StepTable) -> Rows:
    """By step the setting of its lane: one agent at work, a conversation, a team."""
    lengths = np.diff(table.starts)
    filled = np.flatnonzero(lengths)
    turns = np.zeros(len(lengths), np.int64)
    turns[filled] = table.turn[table.starts[filled + 1] - 1] - table.turn[table.starts[filled]]
    team = np.where(_count_speakers(table) >= _TEAM, TEAM, ALONE)
    talks = (turns >= _TURNS) & (turns * _STEPS_A_TURN >= lengths)
    found: Rows = np.where(talks, CONVERSATION, team)[table.lane]
    return found


def _count_speakers(table: StepTable) -> Rows:
    """How many speak in each lane."""
    first = find_first(keys_in_lanes(table.agent, table))
    return np.bincount(table.lane[first], minlength=len(table.starts) - 1)


def describe_speakers(table: StepTable) -> Floats:
    """How much of the lane the two speakers have, who opened it, who speaks around the gap."""
    before, before2 = find_neighbour(table, -1), find_neighbour(table, -2)
    after, agent = find_neighbour(table, 1), table.agent
    _, speaker, spoken = np.unique(
        keys_in_lanes(agent, table), return_inverse=True, return_counts=True
    )
    lengths = np.diff(table.starts)[table.lane]
    share = (spoken[speaker] / np.maximum(lengths, 1)).astype(np.float32)
    opens = agent == agent[table.starts[table.lane]]
    pairs = speaker[before].astype(np.int64) * len(spoken) + speaker
    result_only = (table.argument_size == 0) & (table.result_size > 0) & (table.calls > 0)
    columns = [
        np.log1p(_count_speakers(table))[table.lane],
        share,
        share[before],
        opens,
        opens[before],
        agent == agent[before2],
        agent[after] == agent,
        agent[after] == agent[before],
        find_first(pairs),
        result_only[after],
        table.tool == table.tool[after],
        table.tool == table.tool[before2],
        table.failed[before2],
    ]
    return np.column_stack(columns).astype(np.float32)
