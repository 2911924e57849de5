"""Words of a text: hashed bags with cue bits, and the few plain words that may be kept."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING
from zlib import crc32

from whyflame.content.languages import translate_cjk
from whyflame.content.vocabulary import (
    CLAUSE_OPENERS,
    CUE_WORDS,
    CUES,
    GIVEN_NAMES,
    LEAD_WORDS,
    STOP_WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BAG_BITS", "bag_of", "clause_words", "lead_of", "plain_words", "split_words"]

BAG_BITS = 256
_WORD = re.compile(r"[a-z]{3,}")
_WORD_LIMIT = 20
_MEMO_LIMIT = 50_000
_EDGES = ".,:;!?()[]{}<>\"'`*#-—…“”’。，：；！？（）「」"  # noqa: RUF001
_CUE_BITS: dict[str, int] = {}
for _position, _cue in enumerate(CUES):
    for _word in CUE_WORDS[_cue].split():
        _CUE_BITS[_word] = _CUE_BITS.get(_word, 0) | 1 << _position
_LEADS: dict[str, int] = {}
for _position, _words in enumerate(LEAD_WORDS.values()):
    for _word in _words.split():
        _LEADS.setdefault(_word, _position + 1)
_HONORIFICS = frozenset(["mr", "mrs", "ms", "dr", "prof", "herr", "herrn", "frau", "named", "dear"])


class _Bits(dict[str, int]):
    """Word -> its bag bit and cue bits; filled on demand, emptied when full."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        bag = 0 if word in STOP_WORDS else 1 << (crc32(word.encode()) & (BAG_BITS - 1))
        bits = self[word] = bag | _CUE_BITS.get(word, 0) << BAG_BITS
        return bits


_bits_of = _Bits().__getitem__


def split_words(text: str) -> list[str]:
    """Lower-case ASCII words of three letters and more."""
    return _WORD.findall(text.lower())


def bag_of(words: Iterable[str]) -> int:
    """One integer: a 256-bit hashed bag of the words, cue bits above it."""
    return reduce(or_, map(_bits_of, words), 0)


def lead_of(words: list[str]) -> int:
    """Class of the first verb among the words, 0 when there is none."""
    for word in words:
        if code := _LEADS.get(word):
            return code
    return 0


def clause_words(text: str, limit: int) -> list[str]:
    """Plain words of the clause that says what comes next, else of the beginning."""
    if not text.isascii() and (translated := translate_cjk(text, limit)):
        return translated
    tokens = text.split(None, 40)
    begin = 0
    for position, token in enumerate(tokens[:32]):
        skip = CLAUSE_OPENERS.get(token.lower())
        if skip is not None:
            begin = position + skip
            break
    return plain_words(tokens[begin : begin + 16], limit) or plain_words(tokens[:16], limit)


def plain_words(tokens: list[str], limit: int) -> list[str]:
    """Words that may be kept: plain letters, no stop words, nothing like a name of a person.

    A token that is part of a path, address, key or identifier is not plain, so none of its pieces
    is kept either.
    """
    kept: list[str] = []
    begins = True  # the next word begins a sentence, where a capital says nothing
    after_name = False
    for token in tokens:
        word = token.strip(_EDGES)
        if not word.isalpha() or len(word) > _WORD_LIMIT:
            word = word.replace("-", "").replace("'s", "")
            if not word.isalpha() or len(word) > _WORD_LIMIT or "-" not in token:
                begins, after_name = token[-1:] in ".:!?", False
                continue
        lower = word.lower()
        capital = word[0] != lower[0]
        if lower in GIVEN_NAMES or lower in _HONORIFICS:
            after_name = capital or lower in _HONORIFICS
        elif after_name and capital and not begins:
            after_name = True
        else:
            after_name = False
            if lower not in STOP_WORDS and lower not in kept and len(lower) > 1:
                kept.append(lower)
                if len(kept) == limit:
                    break
        begins = token[-1:] in ".:!?"
    return kept
