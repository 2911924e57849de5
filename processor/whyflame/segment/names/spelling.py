"""Options of names: which of a group's likeliest words they put together, and how they are spelled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.ranking import Words

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["ALONE", "MOST", "OPTIONS", "PAIRS", "PLACES", "Naming", "Ranked", "rank"]

MOST = 8  # likeliest words of a group that are put together
ALONE = 4  # of them stand alone as well
_NAMES = 6  # best names kept: neighbours may want another
PAIRS = np.asarray([*combinations(range(MOST), 2)], np.int64)
OPTIONS = len(PAIRS) + ALONE
PLACES = np.concatenate([PAIRS, np.arange(ALONE)[:, None] * [1, 1]])  # words of every option


@dataclass(slots=True)
class Ranked:
    """The likeliest words of groups: numbers, 0 where there is none, and how likely."""

    words: Rows
    odds: Floats


def rank(odds: Floats, found: Words, names: Sequence[str], groups: int) -> Ranked:
    """The likeliest words of each group; equally likely ones by their letters."""
    numbers = np.unique(found.words).tolist()
    letters = np.zeros(len(names), np.int64)
    letters[sorted(numbers, key=names.__getitem__)] = np.arange(len(numbers))
    order = np.lexsort((letters[found.words], -odds, found.groups))
    owners, words = found.groups[order], found.words[order]
    edges = np.searchsorted(owners, np.arange(groups + 1))
    place = np.arange(len(owners)) - edges[owners]
    top = place < MOST
    best, likely = np.zeros((groups, MOST), np.int64), np.zeros((groups, MOST))
    best[owners[top], place[top]] = words[top]
    likely[owners[top], place[top]] = odds[order][top]
    return Ranked(best, likely)


class Naming:
    """Names of groups, spelled when asked for: mostly the first will do.

    Args:
        order: Puts two object words in the order in which people say them.
        names: Words by number.
        words: By group, the likeliest object words, 0 where there is none.
        verbs: By group, the verbs.
        scores: By group, how good every option is; what cannot be said is infinitely bad.
    """

    def __init__(
        self,
        order: Callable[[str, str], str],
        names: Sequence[str],
        words: Rows,
        verbs: Rows,
        scores: Floats,
    ) -> None:
        self._order, self._names = order, names
        self._words, self._verbs, self._scores = words, verbs, scores
        best = scores.argmax(axis=1)
        rows = np.arange(len(best))
        self._said = np.isfinite(scores[rows, best]).tolist()
        said, option = np.divmod(best, OPTIONS)
        places = PLACES[option]
        keys = zip(
            verbs[rows, said].tolist(),
            words[rows, places[:, 0]].tolist(),
            np.where(option < len(PAIRS), words[rows, places[:, 1]], 0).tolist(),
            strict=True,
        )
        spelled = _Spelled(order, names)
        self._first = [spelled[key] for key in keys]

    def __len__(self) -> int:
        return len(self._words)

    def verb(self, group: int) -> str:
        """The likeliest verb."""
        return self._names[int(self._verbs[group, 0])]

    def objects(self, group: int) -> list[str]:
        """The likeliest object words, likeliest first."""
        return [self._names[word] for word in self._words[group].tolist() if word]

    def has(self, group: int) -> bool:
        """Whether there is any name; not where the only object word is the verb."""
        said: bool = self._said[group]
        return said

    def spell(self, group: int) -> Iterator[str]:
        """Names, best first, of a group that has one."""
        yield self._first[group]
        scores, words, verbs = self._scores[group], self._words[group], self._verbs[group]
        spelled = _Spelled(self._order, self._names)
        order = np.argsort(-scores, kind="stable")[1:_NAMES]
        for place in order[np.isfinite(scores[order])].tolist():
            said, option = divmod(place, OPTIONS)
            first, second = words[PLACES[option]].tolist()
            yield spelled[int(verbs[said]), first, second if option < len(PAIRS) else 0]


class _Spelled(dict[tuple[int, int, int], str]):
    """Numbers of a verb and of one or two object words -> the name."""

    def __init__(self, order: Callable[[str, str], str], names: Sequence[str]) -> None:
        self._order, self._names = order, names

    def __missing__(self, key: tuple[int, int, int]) -> str:
        verb, *words = (self._names[number] for number in key if number)
        if len(words) > 1:
            words = [self._order(words[0], words[1])]
        name = self[key] = " ".join([verb, *words])
        return name
