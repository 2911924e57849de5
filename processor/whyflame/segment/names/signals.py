"""What can speak for an object word, as bits and numbers: the format of the weights in `wording.json`.

A word can stand somewhere (said, touched, asked for), say something about itself (general, silent),
or be what a doing stands for, said or not: a test run is about a `test`, any work about a `result`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import ACTIVITIES, CODES
from whyflame.segment.names.evidence import DID, PLACES, PLANNED, SAID, TOOL, TOUCHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

__all__ = [
    "ASKED", "ASKED_WORDS", "BITS", "FAILED", "GENERAL", "IMPLIED", "LATEST", "NUMBERS", "ONLY_ASKED",
    "ONLY_IMPLIED", "PER_STEP", "PLACE_BITS", "PLANNED_BIT", "SILENT",
]  # fmt: skip

ASKED_WORDS = 5
PER_STEP = 5
"""Pieces of evidence of a step: of the model call, of two calls' names and of what was given to them."""
LATEST = 2  # the third step and all after it are late
NUMBERS = ("count", "share", "focus", "silence")
"""How often a word was met, in how much of the interval, in how much of the lane, how short that is
where it was not met."""

_DONE = {
    "inspect": ("file",),
    "create": ("file", "script"),
    "edit": ("file",),
    "search": ("file",),
    "run": ("script",),
    "test": ("test",),
    "install": ("dependency",),
    "vcs": ("repository",),
}
"""What a step is about by what it does, where nobody says more; a weight each."""
# With `error`, `code`, `flight` and the like names on the public runs are right and shared within .02
# as often, and readers of papers "inspect code error". Weights of their own made these no better.
_OF_ANY_WORK = ("data", "detail", "result")
_TOLD = tuple(code for code in range(len(ACTIVITIES)) if code != CODES["none"])
_ABOUT = [(CODES[activity], word) for activity, words in _DONE.items() for word in words]

_LOCAL = (
    "said 1", "said 2", "said 3", "said 4", "said later 1", "said later 2", "said late 1", "said late 2",
    "touched 1", "touched 2", "touched later 1", "touched later 2", "did", "did later", "tool", "planned",
)  # fmt: skip
PLANNED_BIT = 1 << _LOCAL.index("planned")
ASKED, ONLY_ASKED = len(_LOCAL), len(_LOCAL) + ASKED_WORDS
GENERAL = ONLY_ASKED + ASKED_WORDS
SILENT, FAILED, _FIRST_ABOUT = GENERAL + 1, GENERAL + 2, GENERAL + 3
ONLY_IMPLIED = _FIRST_ABOUT + len(_ABOUT)
BITS: tuple[str, ...] = (
    *_LOCAL,
    *(f"asked {place}, too" for place in range(1, ASKED_WORDS + 1)),
    *(f"asked {place}, only" for place in range(1, ASKED_WORDS + 1)),
    "general",
    "silent",
    "error where something failed",
    *(f"implied {word} {ACTIVITIES[code]}" for code, word in _ABOUT),
    "only implied",
)
"""Their names; the position is the bit."""
IMPLIED: tuple[tuple[tuple[int, ...], str, int], ...] = (
    *(((code,), word, 1 << (_FIRST_ABOUT + at)) for at, (code, word) in enumerate(_ABOUT)),
    *((_TOLD, word, 0) for word in _OF_ANY_WORK),
)
"""Activities, the word that they stand for, said or not, and its bit. A mere talk implies nothing."""


def _place_bits() -> Rows:
    bits = np.zeros((PLACES, LATEST + 1), np.int64)
    bits[SAID:TOUCHED, 0] = range(4)
    bits[SAID:TOUCHED, 1], bits[SAID:TOUCHED, 2] = (4, 5, 5, 5), (6, 7, 7, 7)
    bits[TOUCHED:DID] = [[8, 10, 10], [9, 11, 11]]
    bits[DID:TOOL] = [12, 13, 13]
    bits[TOOL:PLANNED], bits[PLANNED:] = 14, 15
    return np.left_shift(1, bits)


PLACE_BITS = _place_bits()
"""By place of a word and lateness of the step, its bit."""
