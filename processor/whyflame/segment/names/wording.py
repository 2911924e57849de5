"""How names are chosen: how likely each object word is, and which names many runs share.

A name is right when a person would have used one of its words, and it is of use when other runs
have it too. So every pair of a group's likeliest words, and each of the likeliest alone, is weighed:
how likely one of its words is right, how likely its verb, and in how many tasks the shipped list of
names has it, times the length of the interval. The list was made from the public runs, so it is a bounded vocabulary to prefer, not a bound.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflame.segment.names.signals import BITS, NUMBERS
from whyflame.segment.names.spelling import ALONE, OPTIONS, PAIRS, Naming, rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.ranking import Words
    from whyflame.segment.names.spelling import Ranked

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["FOLD", "MOST_STEPS", "USUAL_STEPS", "Wording", "load_wording"]

FOLD = 0.16  # what it counts that many tasks share a name, by the length of a usual interval
_VERB = 0.4  # what it counts that the verb is right, beside the object words
# What is left of a pair that nobody shares: a second word has to add much to the chance.
_SECOND = 0.89
_FEW = 1.0  # a name that so many tasks share counts half
USUAL_STEPS, MOST_STEPS = 4.5, 30.0
_CHUNK = 13  # bits looked up together


@dataclass(frozen=True)
class Wording:
    """What was learned about names.

    Attributes:
        bias, bits, numbers: Log odds of a word: always, by what speaks for it, by how much.
        names: Name -> how many tasks had it; its object words in alphabetical order.
        tails: Word -> how often it stood last when two stood together, 0 to 1.
        fold: What it counts that many runs share a name.
    """

    bias: float
    bits: Floats
    numbers: Floats
    names: Mapping[str, int]
    tails: Mapping[str, float]
    fold: float = FOLD

    def odds(self, found: Words) -> Floats:
        """How likely each word is right."""
        total = np.full(len(found.words), self.bias)
        for at, sums in enumerate(self._sums):
            total += sums[(found.bits >> (at * _CHUNK)) & ((1 << _CHUNK) - 1)]
        for weight, values in zip(self.numbers, found.numbers, strict=True):
            total += weight * values
        # Rounded: equal intervals must get equal names on every machine.
        likely: Floats = 1.0 / (1.0 + np.exp(-total))
        return likely.round(6)

    @cached_property
    def _sums(self) -> list[Floats]:
        """Sums of the weights of every set of bits, a chunk at a time."""
        sums = []
        for first in range(0, len(BITS), _CHUNK):
            found = np.zeros(1)
            for weight in self.bits[first : first + _CHUNK]:
                found = np.concatenate([found, found + weight])
            sums.append(np.resize(found, 1 << _CHUNK))
        return sums

    @cached_property
    def words(self) -> dict[str, int]:
        """Object words of the names in use -> their number from 1."""
        words = {word for name in self.names for word in name.split()[1:]}
        return {word: number for number, word in enumerate(sorted(words), 1)}

    @cached_property
    def verbs(self) -> dict[str, int]:
        """Verbs of the names in use -> their number from 1."""
        return {v: n for n, v in enumerate(sorted({name.split()[0] for name in self.names}), 1)}

    @cached_property
    def shared(self) -> Floats:
        """By verb and two words (0: none), how much that name is shared, 0 to 1."""
        size = len(self.words) + 1
        names = np.zeros((len(self.verbs) + 1, size, size))
        for name, tasks in self.names.items():
            verb, *said = name.split()
            first, *second = sorted(self.words[word] for word in said)
            place = (first, second[0]) if second else (0, first)
            names[(self.verbs[verb], *place)] = tasks / (tasks + _FEW)
        return names

    def order(self, first: str, second: str) -> str:
        """Two object words as people put them: what it is comes last."""
        tail, other = self.tails.get(first, 0.5), self.tails.get(second, 0.5)
        return f"{first} {second}" if (tail, first) < (other, second) else f"{second} {first}"

    def choose(
        self, found: Words, names: Sequence[str], verbs: Rows, odds: Floats, steps: Rows
    ) -> Naming:
        """Names of every group.

        Args:
            found: Object words of the groups.
            names: Words by number.
            verbs: By group, the likeliest verbs by number of the word.
            odds: Log of how likely each of them is.
            steps: Length of each group.
        """
        ranked = rank(self.odds(found), found, names, len(verbs))
        shares = self._shares(ranked.words, names, verbs)
        worth = self.weigh(ranked, verbs, odds, shared=shares > 0)
        worth += (self.fold * np.minimum(steps, MOST_STEPS) / USUAL_STEPS)[:, None, None] * shares
        return Naming(
            self.order, names, ranked.words, verbs, worth.reshape(len(worth), -1).round(9)
        )

    def weigh(
        self, ranked: Ranked, verbs: Rows, odds: Floats, *, shared: NDArray[np.bool_] | bool
    ) -> Floats:
        """By group, verb and object words: how likely that name is right; -inf if none can be.

        Args:
            ranked: The likeliest words. verbs, odds: The likeliest verbs.
            shared: By group, verb and object words, whether others have that name.
        """
        first, second = PAIRS.T
        chance = ranked.odds
        pairs = 1 - (1 - chance[:, first]) * (1 - chance[:, second])
        right = np.concatenate([pairs, chance[:, :ALONE]], axis=1)
        there = ranked.words > 0
        whole = np.concatenate([there[:, first] & there[:, second], there[:, :ALONE]], axis=1)
        right[~whole] = -np.inf
        pair = np.arange(OPTIONS) < len(PAIRS)
        kept = np.where(pair & ~np.asarray(shared), _SECOND, 1.0)
        worth: Floats = right[:, None, :] * kept + _VERB * np.exp(odds)[:, :, None]
        worth[np.isneginf(odds)] = -np.inf
        for place, verb in enumerate(verbs.T):
            worth[:, place][self._says_twice(ranked.words, verb)] = -np.inf
        return worth

    def _shares(self, words: Rows, names: Sequence[str], verbs: Rows) -> Floats:
        """By group, verb and object words: how much that name is shared."""
        known = np.asarray([self.words.get(word, 0) for word in names], np.int64)[words]
        said = np.asarray([self.verbs.get(word, 0) for word in names], np.int64)[verbs]
        first, second = known[:, PAIRS[:, 0]], known[:, PAIRS[:, 1]]
        low, high = np.minimum(first, second), np.maximum(first, second)
        high[low == 0] = 0  # a word that no such name has
        low = np.concatenate([low, np.zeros((len(low), ALONE), np.int64)], axis=1)
        high = np.concatenate([high, known[:, :ALONE]], axis=1)
        found: Floats = self.shared[said[:, :, None], low[:, None, :], high[:, None, :]]
        return found

    @staticmethod
    def _says_twice(words: Rows, verb: Rows) -> NDArray[np.bool_]:
        """Whether the verb is one of the words: "test test"."""
        first, second = PAIRS.T
        same = words == verb[:, None]
        return np.concatenate([same[:, first] | same[:, second], same[:, :ALONE]], axis=1)


@cache
def load_wording() -> Wording:
    """The shipped one."""
    text = files("whyflame.segment.names").joinpath("wording.json").read_text("utf-8")
    raw: dict[str, Any] = json.loads(text)
    return Wording(
        float(raw["bias"]),
        np.asarray([raw["bits"][bit] for bit in BITS], np.float64),
        np.asarray([raw["numbers"][number] for number in NUMBERS], np.float64),
        raw["names"],
        raw["tails"],
    )
