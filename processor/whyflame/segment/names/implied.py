"""Object words that what the steps do stands for, said or not: `result` for what ends a run.

A few words that are true of any work; how likely each is follows from the activities of the
interval's first steps and from its place in the run. Nothing here looks at what was said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import ACTIVITIES, CODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["FEATURES", "Doings", "Implied"]

FEATURES = (
    *(f"does {activity}" for activity in ACTIVITIES),
    *(f"begins with {activity}" for activity in ACTIVITIES),
    "first of the run",
    "last of the run",
    "one step",
    "always",
)
"""What weighs; the position is the row of the weights."""
_NOTHING_DONE = CODES["none"]


@dataclass(frozen=True, slots=True)
class Doings:
    """What the looked-at steps of groups do.

    Attributes:
        lanes: Position of each group's lane.
        activities: By group and step, the code; -1 where there is no step.
        failed: By group, whether any step failed.
        lengths: How many steps there are.
        begins, ends: By group, whether it is the first or last of its lane.
    """

    lanes: Rows
    activities: Rows
    failed: NDArray[np.bool_]
    lengths: Rows
    begins: NDArray[np.bool_]
    ends: NDArray[np.bool_]

    def features(self) -> Floats:
        """By group, `FEATURES` as 0 or 1."""
        size = len(ACTIVITIES)
        found = np.zeros((len(self.lengths), len(FEATURES)))
        rows = np.arange(len(found))
        for step in self.activities.T:
            there = step >= 0
            found[rows[there], step[there]] = 1.0
        found[rows, size + np.maximum(self.activities[:, 0], _NOTHING_DONE)] = 1.0
        found[:, 2 * size] = self.begins
        found[:, 2 * size + 1] = self.ends
        found[:, 2 * size + 2] = self.lengths == 1
        found[:, 2 * size + 3] = 1.0
        return found

    def anything(self) -> NDArray[np.bool_]:
        """Whether any step does what is told by its call; a mere talk implies nothing."""
        told: NDArray[np.bool_] = np.logical_or.reduce(self.activities > _NOTHING_DONE, axis=1)
        return told


@dataclass(frozen=True)
class Implied:
    """The words and what speaks for them.

    Attributes:
        words: Which.
        weights: `FEATURES` by words; part of the log odds of a word.
        unsaid: By word, added where nothing else speaks for it.
    """

    words: tuple[str, ...] = ()
    weights: Floats | None = None
    unsaid: Floats = field(default_factory=lambda: np.zeros(0))

    def weigh(self, features: Floats) -> Floats:
        """By group and word, what the doings add to its log odds."""
        if self.weights is None:
            return np.zeros((len(features), len(self.words)))
        weighed: Floats = (features @ self.weights).round(6)
        return weighed

    def offer(self, doings: Doings) -> tuple[Rows, Rows]:
        """Groups, and positions in `words`, of what is weighed although nobody may have said it."""
        groups = np.flatnonzero(doings.anything())
        return np.repeat(groups, len(self.words)), np.tile(np.arange(len(self.words)), len(groups))
