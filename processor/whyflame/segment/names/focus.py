"""What lanes say about words whatever the interval: what was asked for, what most steps meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.names.evidence import TOOL
from whyflame.segment.names.signals import ASKED_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.evidence import Lexicon
    from whyflame.segment.names.pieces import Entries

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["LaneFocus"]


class LaneFocus:
    """What lanes say about words whatever the interval.

    Args:
        lexicon: Words by number.
        requests: Object words of each lane's request.
        focus: Words of the steps looked at in each lane. looked: How many steps those are.
    """

    def __init__(
        self, lexicon: Lexicon, requests: Sequence[list[str]], focus: Entries, looked: Rows
    ) -> None:
        self._lexicon = lexicon
        self._requests = requests
        number = lexicon.number
        rows = [[number(word) for word in words[:ASKED_WORDS]] for words in requests]
        self.asked_lengths = np.asarray([len(row) for row in rows], np.int64)
        self.asked = np.zeros((len(rows), ASKED_WORDS), np.int64)
        for lane, row in enumerate(rows):
            self.asked[lane, : len(row)] = row
        met = focus.places != TOOL
        self._focus, self._met = focus.groups[met], focus.words[met]
        self._looked = np.maximum(looked, 1)

    def asks(self, word: str) -> NDArray[np.bool_]:
        """By lane, whether its request names the word."""
        return np.asarray([word in asked for asked in self._requests], np.bool_)

    def share(self, lanes: Rows, words: Rows) -> Floats:
        """In how much of the lane each word was met."""
        size = len(self._lexicon.words)
        keys, counts = np.unique(self._focus * size + self._met, return_counts=True)
        if not len(keys):
            return np.zeros(len(words))
        wanted = lanes * size + words
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.where(keys[at] == wanted, counts[at], 0)
        return np.minimum(found / self._looked[lanes], 1.0)
