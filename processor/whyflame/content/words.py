"""Words of a text: hashed bags with cue bits, and the few plain words that may be kept."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
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

__all__ = ["BAG_BITS", "bag_of", "clause_words", "lead_of", "plain_words"]

BAG_BITS = 256
_WORD = re.compile(r"[a-z]{3,}")
_WORD_LIMIT = 20
_MEMO_LIMIT = 50_000
_MEMO_CHARS = 40
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
_INTRODUCES = frozenset(["i'm", "i’m"])
_INTRODUCTIONS = frozenset([("name", "is"), ("i", "am"), ("ich", "bin"), ("bin", "ich")])


class _Bits(dict[str, int]):
    """Token -> the bag bits and cue bits of its words; filled on demand, emptied when full."""

    def __missing__(self, token: str) -> int:
        bits = 0
        for word in _WORD.findall(token.lower()):
            if word not in STOP_WORDS:
                bits |= 1 << (crc32(word.encode()) & (BAG_BITS - 1))
            bits |= _CUE_BITS.get(word, 0) << BAG_BITS
        if len(token) <= _MEMO_CHARS:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[token] = bits
        return bits


_bits_of = _Bits().__getitem__


def bag_of(text: str) -> int:
    """One integer: a 256-bit hashed bag of the words of three letters, cue bits above it.

    No word spans white space, so tokens are looked up whole: they repeat, and to split by white
    space takes a fifth of what finding the words takes.
    """
    return reduce(or_, map(_bits_of, set(text.split())), 0)


def lead_of(words: list[str]) -> int:
    """Class of the first verb among the words, 0 when there is none."""
    for word in words:
        if code := _LEADS.get(word):
            return code
    return 0


class _Openers(dict[str, int]):
    """Token -> how many tokens on the clause begins that it opens, 0 when it opens none."""

    def __missing__(self, token: str) -> int:
        skip = CLAUSE_OPENERS.get(token.lower(), 0)
        if len(token) <= _MEMO_CHARS:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[token] = skip
        return skip


_OPENERS = _Openers()


def clause_words(text: str, limit: int) -> list[str]:
    """Plain words of the clause that says what comes next, else of the beginning."""
    if not text.isascii() and (translated := translate_cjk(text, limit)):
        return translated
    tokens = text.split(None, 40)
    begin = 0
    for position, skip in enumerate(map(_OPENERS.__getitem__, tokens[:32])):
        if skip:
            begin = position + skip
            break
    return plain_words(tokens[begin : begin + 16], limit) or plain_words(tokens[:16], limit)


class _Looks(dict[str, "_Look | None"]):
    """Token -> what `plain_words` must know of it, None for a token that says nothing."""

    def __missing__(self, token: str) -> _Look | None:
        look = _look_at(token)
        if len(token) <= _MEMO_CHARS:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[token] = look
        return look


_Look = tuple[str, bool, bool, bool, bool, bool]
"""Lower-case word or "", capital, title, names or introduces a person, to be kept, ends a sentence."""


def _look_at(token: str) -> _Look | None:
    ends = token[-1:] in ".:!?"
    word = token.strip(_EDGES)
    if not word.isalpha() or len(word) > _WORD_LIMIT:
        word = word.replace("-", "").replace("'s", "")
        if not word.isalpha() or len(word) > _WORD_LIMIT or "-" not in token:
            introduces = token.lower() in _INTRODUCES
            return ("", False, False, introduces, False, ends) if ends or introduces else None
    lower = word.lower()
    title = lower in _HONORIFICS
    return (
        lower,
        word[0] != lower[0] and not word.isupper(),
        title,
        title or lower in GIVEN_NAMES,
        lower not in STOP_WORDS and len(lower) > 1,
        ends,
    )


_looks = _Looks()


def plain_words(tokens: list[str], limit: int) -> list[str]:
    """Words that may be kept: plain letters, no stop words, nothing like a name of a person.

    A token that is part of a path, address, key or identifier is not plain, so none of its pieces
    is kept either.
    """
    kept: list[str] = []
    begins = True  # the next word begins a sentence, where a capital says nothing
    person = False  # the next capital word belongs to a name
    capital_before, lower_before = False, ""
    for look in map(_looks.__getitem__, tokens):
        if look is None:
            begins, person, capital_before, lower_before = False, False, False, ""
            continue
        lower, capital, title, named, keeps, ends = look
        if not lower:
            begins, person = ends, named
            capital_before, lower_before = False, ""
            continue
        capital = capital and not begins
        if named:
            person, capital = True, False
        elif capital and (person or capital_before):
            person = True
            if capital_before and kept and kept[-1] == lower_before:
                kept.pop()  # two capital words in a row: a name of two parts
        else:
            person = (lower_before, lower) in _INTRODUCTIONS
            if keeps and lower not in kept:
                kept.append(lower)
                if len(kept) == limit:
                    break
        begins = ends and not title
        capital_before, lower_before = capital, lower
    return kept
