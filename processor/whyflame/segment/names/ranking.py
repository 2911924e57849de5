"""Object words of many intervals, weighed and ranked together in arrays.

Sums go over the words in their order, as a loop over each interval would add them, so that equal
intervals get equal words whatever else is in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.evidence import Evidence, Lexicon

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Preferences", "Weighed", "rank", "weigh"]

_GENERAL_BONUS, _COMMON_BONUS, _TOPIC_BONUS = 10.0, 8.0, 10.0
_GOES_WITH_BONUS = 30.0
# Other work merely meets errors: a refund that fails is a refund.
_ABOUT_ERRORS = ("diagnose", "fix", "inspect", "find", "reproduce", "test", "handle")


@dataclass(slots=True)
class Weighed:
    """Words of groups with what they weigh, by group, then number of the word."""

    groups: Rows
    words: Rows
    weights: Floats


def weigh(evidence: Evidence, pieces: Rows, doubled: int = 0) -> Weighed:
    """Words of all pieces of each group.

    Args:
        evidence: What the numbers in `pieces` mean.
        pieces: A row a group; numbers of evidence, in the order in which they are summed.
        doubled: So many of the first columns count twice.
    """
    lengths = evidence.lengths[pieces].ravel()
    filled = np.flatnonzero(lengths)
    counts = lengths[filled]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    begins = evidence.starts[pieces.ravel()[filled]] - (ends - counts)
    at = np.arange(total) + np.repeat(begins, counts)
    groups, columns = np.divmod(filled, pieces.shape[1] or 1)
    shares = np.where(columns < doubled, 2.0, 1.0)
    return _sum(
        np.repeat(groups, counts), evidence.words[at],
        np.repeat(shares, counts) * evidence.weights[at],
    )  # fmt: skip


def _sum(groups: Rows, words: Rows, weights: Floats) -> Weighed:
    """One row a word of a group; weights are added in the order in which they come."""
    size, bits = int(words.max(initial=0)) + 1, len(words).bit_length()
    # The position in the low bits: a sort of whole numbers is faster than a stable argsort.
    packed = np.sort(((groups * size + words) << bits) | np.arange(len(words)))
    keys, order = packed >> bits, packed & ((1 << bits) - 1)
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    sums = np.bincount(np.cumsum(first) - 1, weights[order]).astype(np.float64)
    found, numbers = np.divmod(keys[first], size)
    return Weighed(found, numbers, sums)


class Preferences:
    """What lanes prefer whatever the interval.

    Args:
        lexicon: Words by number.
        requests: Object words of each lane's request.
        focus: Words of each lane's steps.
    """

    def __init__(self, lexicon: Lexicon, requests: Sequence[list[str]], focus: Weighed) -> None:
        self._lexicon, self._tables = lexicon, lexicon.tables
        self._requests = requests
        number = lexicon.number
        asked = [(lane, number(word)) for lane, words in enumerate(requests) for word in words]
        self._asked = np.asarray(asked, np.int64).reshape(-1, 2)
        self._focus = focus

    def give_way(self, found: Weighed, lanes: Rows) -> Weighed:
        """Words give way to the head that the request of their lane names."""
        number = self._lexicon.number
        for head, words in self._tables.heads.items():
            with_head = np.zeros(len(self._requests), np.bool_)
            with_head[[lane for lane, asked in enumerate(self._requests) if head in asked]] = True
            if not with_head.any():
                continue
            gone = with_head[lanes[found.groups]]
            gone &= np.isin(found.words, [number(word) for word in sorted(words)])
            if gone.any():
                # What the head weighs itself comes first.
                order = np.argsort(gone, kind="stable")
                words_now = np.where(gone, number(head), found.words)
                found = _sum(found.groups[order], words_now[order], found.weights[order])
        return found

    def factors(self, lanes: Rows, words: Rows) -> Floats:
        """How much each word is preferred in its lane."""
        size = len(self._lexicon.words)
        keys = lanes * size + words
        factors = 0.5 + _look_up(
            self._focus.groups * size + self._focus.words, self._focus.weights, keys
        )
        tables = self._tables
        factors[self._is_in(tables.general, words)] *= _GENERAL_BONUS
        factors[self._is_in(tables.common, words)] *= _COMMON_BONUS
        asked = np.unique(self._asked[:, 0] * size + self._asked[:, 1])
        factors[_look_up(asked, np.ones(len(asked)), keys) > 0] *= _TOPIC_BONUS
        return factors

    def _is_in(self, chosen: frozenset[str], words: Rows) -> NDArray[np.bool_]:
        return _flags(self._lexicon, chosen)[words]


def rank(
    lexicon: Lexicon, found: Weighed, lanes: Rows, verbs: Rows, preferences: Preferences
) -> list[list[str]]:
    """Object words of each group, best first; none where it has none.

    Args:
        lexicon: Words by number.
        found: Words of the groups.
        lanes, verbs: Of each group; a verb by its number.
        preferences: Of the lanes.
    """
    found = preferences.give_way(found, lanes)
    groups, words, weights = found.groups, found.words, found.weights.copy()
    said = verbs[groups]
    tables, number = lexicon.tables, lexicon.number
    crowded = np.bincount(groups, minlength=len(verbs))[groups] > 1
    about_errors = np.isin(said, [number(verb) for verb in _ABOUT_ERRORS])
    kept = ~((words == number("error")) & crowded & ~about_errors)
    weights[_goes_with(lexicon, said, words)] *= _GOES_WITH_BONUS
    kept &= (words != said) & ~_flags(lexicon, tables.qualifiers)[words]
    groups, words, weights = groups[kept], words[kept], weights[kept]
    scores = weights * preferences.factors(lanes[groups], words)
    order = np.lexsort((_alphabetical(lexicon, words), -scores, groups))
    names = [lexicon.words[word] for word in words[order].tolist()]
    edges = np.searchsorted(groups, np.arange(len(verbs) + 1)).tolist()
    return [names[start:end] for start, end in pairwise(edges)]


def _goes_with(lexicon: Lexicon, verbs: Rows, words: Rows) -> NDArray[np.bool_]:
    """Whether a word is what its group's verb is mostly done to."""
    number = lexicon.number
    pairs = [
        (number(verb), number(word))
        for verb, chosen in lexicon.tables.go_with.items()
        for word in chosen
    ]
    size = len(lexicon.words)
    keys = np.sort(np.asarray([verb * size + word for verb, word in pairs], np.int64))
    return _look_up(keys, np.ones(len(keys)), verbs * size + words) > 0


def _flags(lexicon: Lexicon, chosen: frozenset[str]) -> NDArray[np.bool_]:
    """By number of a word, whether it is one of these."""
    numbers = [lexicon.number(word) for word in chosen]
    flags = np.zeros(len(lexicon.words), np.bool_)
    flags[numbers] = True
    return flags


def _alphabetical(lexicon: Lexicon, words: Rows) -> Rows:
    """Place of each word among all of these in the order of their letters."""
    present = np.zeros(len(lexicon.words), np.bool_)
    present[words] = True
    numbers = np.flatnonzero(present).tolist()
    places = np.zeros(len(present), np.int64)
    places[sorted(numbers, key=lexicon.words.__getitem__)] = np.arange(len(numbers))
    return places[words]


def _look_up(keys: Rows, values: Floats, wanted: Rows) -> Floats:
    """Values of the wanted keys, 0 where there is none; `keys` ascend."""
    if not len(keys):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0.0)
