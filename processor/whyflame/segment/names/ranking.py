"""Object words of many intervals and what speaks for each, as rows of bits and numbers.

Everything is worked out row by row or summed in the order of the words, so that equal intervals get
equal words whatever else is in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import CODES
from whyflame.segment.names.evidence import DID, PLACES, PLANNED, SAID, TOOL, TOUCHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whyflame.segment.names.evidence import Evidence, Lexicon
    from whyflame.segment.names.implied import Doings, Implied

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = [
    "ASKED_WORDS",
    "BITS",
    "NUMBERS",
    "Entries",
    "Preferences",
    "Words",
    "describe",
    "gather",
]

ASKED_WORDS = 5
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
"""What a step is about by what it does, where nobody says more."""
_ABOUT = [(CODES[activity], word) for activity, words in _DONE.items() for word in words]
_LOCAL = (
    "said 1", "said 2", "said 3", "said 4", "said later 1", "said later 2", "said late 1", "said late 2",
    "touched 1", "touched 2", "touched later 1", "touched later 2", "did", "did later", "tool", "planned",
)  # fmt: skip
_PLANNED = 1 << _LOCAL.index("planned")
_ASKED, _ONLY_ASKED = len(_LOCAL), len(_LOCAL) + ASKED_WORDS
_GENERAL = _ONLY_ASKED + ASKED_WORDS
_SILENT, _FAILED, _FIRST_ABOUT = _GENERAL + 1, _GENERAL + 2, _GENERAL + 3
_UNSAID = _FIRST_ABOUT + len(_ABOUT)
BITS: tuple[str, ...] = (
    *_LOCAL,
    *(f"asked {place}, too" for place in range(1, ASKED_WORDS + 1)),
    *(f"asked {place}, only" for place in range(1, ASKED_WORDS + 1)),
    "general",
    "silent",
    "error where something failed",
    *(f"implied {word} {code}" for code, word in _ABOUT),
    "only implied",
)
"""What can speak for a word; the position is the bit, so this is part of the model's format."""
NUMBERS = ("count", "share", "focus", "silence")
_LATEST = 2  # the third step and all after it are late
_PER_STEP = 5
# Other work merely meets errors: a refund that fails is a refund.
_ABOUT_ERRORS = ("diagnose", "fix", "inspect", "find", "reproduce", "test", "handle")


def _place_bits() -> Rows:
    """By place of a word and lateness of the step, the bit; 0 where the place does not count."""
    bits = np.zeros((PLACES, _LATEST + 1), np.int64)
    bits[SAID:TOUCHED, 0] = range(4)
    bits[SAID:TOUCHED, 1], bits[SAID:TOUCHED, 2] = (4, 5, 5, 5), (6, 7, 7, 7)
    bits[TOUCHED:DID] = [[8, 10, 10], [9, 11, 11]]
    bits[DID:TOOL] = [12, 13, 13]
    bits[TOOL:PLANNED], bits[PLANNED:] = 14, 15
    return np.left_shift(1, bits)


_PLACE_BITS = _place_bits()


@dataclass(slots=True)
class Entries:
    """Words met in groups, one row a meeting.

    Attributes:
        groups, words: Which group, number of the word.
        columns, places: Which piece of the group, and where the word stands in it.
    """

    groups: Rows
    words: Rows
    columns: Rows
    places: Rows


def gather(evidence: Evidence, pieces: Rows) -> Entries:
    """Words of all pieces of each group; a row of `pieces` is a group's numbers of evidence."""
    lengths = evidence.lengths[pieces].ravel()
    filled = np.flatnonzero(lengths)
    counts = lengths[filled]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    begins = evidence.starts[pieces.ravel()[filled]] - (ends - counts)
    at = np.arange(total) + np.repeat(begins, counts)
    groups, columns = np.divmod(filled, pieces.shape[1] or 1)
    return Entries(
        np.repeat(groups, counts),
        evidence.words[at],
        np.repeat(columns, counts),
        evidence.places[at],
    )


@dataclass(slots=True)
class Words:
    """Object words of groups, one row a word of a group, ordered by group.

    Attributes:
        groups, words: Which group, number of the word.
        bits: What speaks for it (`BITS`). numbers: How much (`NUMBERS`), one a row.
        hints: What the doings add to its log odds.
        implied: Its position among the implied words, -1 for others.
        features: By group, what the hints were made from.
    """

    groups: Rows
    words: Rows
    bits: Rows
    numbers: Floats
    hints: Floats
    implied: Rows
    features: Floats


class Preferences:
    """What lanes say about words whatever the interval.

    Args:
        lexicon: Words by number.
        requests: Object words of each lane's request.
        focus: Words of the steps looked at in each lane. looked: How many steps those are.
    """

    def __init__(
        self, lexicon: Lexicon, requests: Sequence[list[str]], focus: Entries, looked: Rows
    ) -> None:
        self._lexicon, self._tables = lexicon, lexicon.tables
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

    def give_way(self, groups: Rows, words: Rows) -> Rows:
        """Words, or the head they give way to where the request of their lane names it.

        Args:
            groups: The lane of each word.
            words: Their numbers.
        """
        number = self._lexicon.number
        for head, gone in self._tables.heads.items():
            with_head = np.asarray([head in asked for asked in self._requests], np.bool_)
            if with_head.any():
                listed = np.isin(words, [number(word) for word in sorted(gone)])
                words = np.where(with_head[groups] & listed, number(head), words)
        return words

    def focus(self, lanes: Rows, words: Rows) -> Floats:
        """In how much of the lane each word was met."""
        size = len(self._lexicon.words)
        keys, counts = np.unique(self._focus * size + self._met, return_counts=True)
        if not len(keys):
            return np.zeros(len(words))
        wanted = lanes * size + words
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.where(keys[at] == wanted, counts[at], 0)
        return np.minimum(found / self._looked[lanes], 1.0)


def describe(
    lexicon: Lexicon,
    entries: Entries,
    doings: Doings,
    verbs: Rows,
    preferences: Preferences,
    implied: Implied,
) -> Words:
    """Object words of each group and what speaks for them.

    Args:
        lexicon: Words by number.
        entries: Words met; the first column is what was asked, then `_PER_STEP` a step.
        doings: What the steps do.
        verbs: The likeliest of each group, by its number.
        preferences: Of the lanes.
        implied: Words that doings stand for.
    """
    lanes, features = doings.lanes, doings.features()
    weighed = implied.weigh(features)
    offered, columns = implied.offer(doings)
    listed = np.asarray([lexicon.number(word) for word in implied.words], np.int64)
    spoken = _speak(lexicon, entries, doings, preferences, (offered, listed[columns]))
    groups, words, bits, counts = _drop(lexicon, verbs, *_join(*spoken))
    positions = np.full(len(lexicon.words), -1)
    positions[listed] = np.arange(len(listed))
    position = positions[words]
    unsaid = (bits == 0) & (position >= 0)
    padded = np.concatenate([weighed, np.zeros((len(weighed), 1))], axis=1)  # -1: of no such word
    hints = padded[groups, position] + np.where(
        unsaid, np.append(implied.unsaid, 0.0)[position], 0.0
    )
    lengths = np.maximum(doings.lengths[groups], 1)
    silent = counts == 0
    numbers = [
        np.log1p(counts),
        np.minimum(counts / lengths, 1.0),
        preferences.focus(lanes[groups], words),
        silent / lengths,
    ]
    bits = _judge(lexicon, words, bits, silent, doings.failed[groups])
    return Words(groups, words, bits, np.stack(numbers), hints, position, features)


def _drop(
    lexicon: Lexicon, verbs: Rows, groups: Rows, words: Rows, bits: Rows, counts: Rows
) -> tuple[Rows, Rows, Rows, Rows]:
    """The same without words that cannot be objects there."""
    number = lexicon.number
    crowded = np.bincount(groups, minlength=len(verbs))[groups] > 1
    about_errors = np.isin(verbs, [number(verb) for verb in _ABOUT_ERRORS])[groups]
    kept = ~((words == number("error")) & crowded & ~about_errors)
    kept &= ~_flags(lexicon, lexicon.tables.qualifiers)[words]
    planned = (bits & _PLANNED) > 0
    kept &= planned | ~np.isin(groups, groups[planned & kept])  # a plan says it all
    return groups[kept], words[kept], bits[kept], counts[kept]


def _judge(
    lexicon: Lexicon,
    words: Rows,
    bits: Rows,
    silent: NDArray[np.bool_],
    failed: NDArray[np.bool_],
) -> Rows:
    """Bits that tell about the word as a whole, beside those of its places."""
    asked = (bits >> _ASKED) & ((1 << ASKED_WORDS) - 1)
    judged = np.where(silent, bits ^ (asked << _ASKED) ^ (asked << _ONLY_ASKED), bits)
    judged |= (bits == 0).astype(np.int64) << _UNSAID
    judged |= _flags(lexicon, lexicon.tables.general)[words].astype(np.int64) << _GENERAL
    judged |= silent.astype(np.int64) << _SILENT
    judged |= ((words == lexicon.number("error")) & failed).astype(np.int64) << _FAILED
    return judged


def _speak(
    lexicon: Lexicon,
    entries: Entries,
    doings: Doings,
    preferences: Preferences,
    offered: tuple[Rows, Rows],
) -> tuple[Rows, Rows, Rows, Rows]:
    """Group, word, bit and whether it counts as met: of words met, asked for, and implied."""
    lanes = doings.lanes
    late = np.minimum(np.maximum(entries.columns - 1, 0) // _PER_STEP, _LATEST)
    words = preferences.give_way(lanes[entries.groups], entries.words)
    groups, bits = [entries.groups], [_PLACE_BITS[entries.places, late]]
    found, met = [words], [(entries.places < TOOL).astype(np.int64)]
    lengths = preferences.asked_lengths[lanes]
    for place in range(ASKED_WORDS):
        some = np.flatnonzero(lengths > place)
        groups.append(some)
        found.append(preferences.asked[lanes[some], place])
        bits.append(np.full(len(some), 1 << (_ASKED + place)))
    for place, (code, word) in enumerate(_ABOUT):
        some = np.flatnonzero((doings.activities == code).any(axis=1))
        groups.append(some)
        found.append(np.full(len(some), lexicon.number(word)))
        bits.append(np.full(len(some), 1 << (_FIRST_ABOUT + place)))
    some = np.flatnonzero(doings.failed)
    groups += [some, offered[0]]
    found += [np.full(len(some), lexicon.number("error")), offered[1]]
    bits.append(np.zeros(len(some) + len(offered[0]), np.int64))
    met.append(np.zeros(sum(map(len, groups)) - len(words), np.int64))
    return tuple(map(np.concatenate, (groups, found, bits, met)))  # type: ignore[return-value]


def _join(groups: Rows, words: Rows, bits: Rows, met: Rows) -> tuple[Rows, Rows, Rows, Rows]:
    """One row a word of a group: its bits together, and how often it was met."""
    if not len(groups):
        return groups, words, bits, met
    size, place_bits = int(words.max()) + 1, len(words).bit_length()
    # The position in the low bits: a sort of whole numbers is faster than a stable argsort.
    packed = np.sort(((groups * size + words) << place_bits) | np.arange(len(words)))
    keys, order = packed >> place_bits, packed & ((1 << place_bits) - 1)
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    begins = np.flatnonzero(first)
    found, numbers = np.divmod(keys[begins], size)
    return (
        found,
        numbers,
        np.bitwise_or.reduceat(bits[order], begins),
        np.add.reduceat(met[order], begins),
    )


def _flags(lexicon: Lexicon, chosen: frozenset[str]) -> NDArray[np.bool_]:
    """By number of a word, whether it is one of these."""
    numbers = [lexicon.number(word) for word in chosen]
    flags = np.zeros(len(lexicon.words), np.bool_)
    flags[numbers] = True
    return flags
