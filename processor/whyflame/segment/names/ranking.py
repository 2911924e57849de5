"""Object words of many intervals and what speaks for each, as rows of bits and numbers.

Everything is worked out row by row or summed in the order of the words, so that equal intervals get
equal words whatever else is in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whyflame.content.activity import ACTIVITIES
from whyflame.segment.names.evidence import TOOL, TOUCHED
from whyflame.segment.names.signals import (
    ASKED,
    ASKED_WORDS,
    FAILED,
    GENERAL,
    IMPLIED,
    LATEST,
    ONLY_ASKED,
    ONLY_IMPLIED,
    PER_STEP,
    PLACE_BITS,
    PLANNED_BIT,
    SILENT,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whyflame.segment.names.evidence import Lexicon
    from whyflame.segment.names.focus import LaneFocus
    from whyflame.segment.names.pieces import Doings, Entries

    Rows = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Words", "describe"]

# Other work merely meets errors: a refund that fails is a refund.
_ABOUT_ERRORS = ("diagnose", "fix", "inspect", "find", "reproduce", "test", "handle")


@dataclass(slots=True)
class Words:
    """Object words of groups, one row a word of a group, ordered by group.

    Attributes:
        groups, words: Which group, number of the word.
        bits: What speaks for it (`BITS`). numbers: How much (`NUMBERS`), one a row.
    """

    groups: Rows
    words: Rows
    bits: Rows
    numbers: Floats


def describe(
    lexicon: Lexicon, entries: Entries, doings: Doings, verbs: Rows, focus: LaneFocus
) -> Words:
    """Object words of each group and what speaks for them.

    Args:
        lexicon: Words by number.
        entries: Words met; the first column is what was asked, then `PER_STEP` a step.
        doings: What the steps do.
        verbs: The likeliest of each group, by its number.
        focus: What the lanes say.
    """
    spoken = _speak(lexicon, entries, doings, focus)
    groups, words, bits, counts = _drop(lexicon, verbs, *_join(*spoken))
    lengths = np.maximum(doings.lengths[groups], 1)
    silent = counts == 0
    numbers = [
        np.log1p(counts),
        np.minimum(counts / lengths, 1.0),
        focus.share(doings.lanes[groups], words),
        silent / lengths,
    ]
    bits = _judge(lexicon, words, bits, silent, doings.failed[groups])
    return Words(groups, words, bits, np.stack(numbers))


def _speak(
    lexicon: Lexicon, entries: Entries, doings: Doings, focus: LaneFocus
) -> tuple[Rows, Rows, Rows, Rows]:
    """Group, word, bit and whether it counts as met: of words met, asked for, and implied."""
    late = np.minimum(np.maximum(entries.columns - 1, 0) // PER_STEP, LATEST)
    met = entries.groups, entries.words, PLACE_BITS[entries.places, late]
    unmet = (*_ask(focus, doings.lanes), *_imply(lexicon, doings))
    groups, words, bits = map(np.concatenate, zip(met, *unmet, strict=True))
    counts = np.zeros(len(groups), np.int64)
    counts[: len(entries.places)] = entries.places < TOOL
    words = _give_way(lexicon, entries, doings.lanes, focus, (groups, words))
    return groups, words, bits, counts


def _ask(focus: LaneFocus, lanes: Rows) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Groups, words and bits of what was asked for."""
    lengths = focus.asked_lengths[lanes]
    for place in range(ASKED_WORDS):
        some = np.flatnonzero(lengths > place)
        yield some, focus.asked[lanes[some], place], np.full(len(some), 1 << (ASKED + place))


def _imply(lexicon: Lexicon, doings: Doings) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Groups, words and bits of what the doings stand for."""
    does = np.zeros((len(doings.lanes), len(ACTIVITIES) + 1), np.bool_)
    # The last column: no step.
    np.put_along_axis(does, doings.activities, values=True, axis=1)
    offers = [(does[:, codes].any(axis=1), word, bit) for codes, word, bit in IMPLIED]
    for there, word, bit in [*offers, (doings.failed, "error", 0)]:
        some = np.flatnonzero(there)
        yield some, np.full(len(some), lexicon.number(word)), np.full(len(some), bit)


def _give_way(
    lexicon: Lexicon, entries: Entries, lanes: Rows, focus: LaneFocus, met: tuple[Rows, Rows]
) -> Rows:
    """Words, or the head they give way to where the interval says it or the request names it.

    Args:
        lexicon: Words by number. entries: Words that stand somewhere.
        lanes: Of the groups. focus: What they say.
        met: Group and word of all that is there.
    """
    groups, words = met
    said = entries.places < TOUCHED
    for head, gone in lexicon.tables.heads.items():
        number = lexicon.number(head)
        named = focus.asks(head)[lanes]
        named[entries.groups[said & (entries.words == number)]] = True
        if named.any():
            listed = np.isin(words, [lexicon.number(word) for word in sorted(gone)])
            words = np.where(named[groups] & listed, number, words)
    return words


def _drop(
    lexicon: Lexicon, verbs: Rows, groups: Rows, words: Rows, bits: Rows, counts: Rows
) -> tuple[Rows, Rows, Rows, Rows]:
    """The same without words that cannot be objects there."""
    number = lexicon.number
    crowded = np.bincount(groups, minlength=len(verbs))[groups] > 1
    about_errors = np.isin(verbs, [number(verb) for verb in _ABOUT_ERRORS])[groups]
    kept = ~((words == number("error")) & crowded & ~about_errors)
    kept &= ~_flags(lexicon, lexicon.tables.qualifiers)[words]
    planned = (bits & PLANNED_BIT) > 0
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
    asked = (bits >> ASKED) & ((1 << ASKED_WORDS) - 1)
    judged = np.where(silent, bits ^ (asked << ASKED) ^ (asked << ONLY_ASKED), bits)
    judged |= (bits == 0).astype(np.int64) << ONLY_IMPLIED
    judged |= _flags(lexicon, lexicon.tables.general)[words].astype(np.int64) << GENERAL
    judged |= silent.astype(np.int64) << SILENT
    judged |= ((words == lexicon.number("error")) & failed).astype(np.int64) << FAILED
    return judged


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
