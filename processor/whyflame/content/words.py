"""Words of a text: hashed bags with cue bits, and the few plain words that may be kept."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar
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
    from collections.abc import Callable, Iterable

__all__ = ["BAG_BITS", "bag_of", "clause_words", "lead_of", "plain_words"]

_Known = TypeVar("_Known")

BAG_BITS = 256
_WORD = re.compile(r"[a-z]{3,}")
_WORD_LIMIT = 20
_MEMO_LIMIT = 20_000
_MEMO_CHARS = 40
_DIGIT = re.compile(r"[0-9]")
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


class _Memo(dict[str, _Known]):
    """What is known of a token, worked out when first asked for; emptied when full.

    Long tokens and those with digits (ids, numbers) hardly ever come again and are not kept.
    """

    def __init__(self, work_out: Callable[[str], _Known]) -> None:
        self._work_out = work_out

    def __missing__(self, token: str) -> _Known:
        known = self._work_out(token)
        if len(token) <= _MEMO_CHARS and _DIGIT.search(token) is None:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[token] = known
        return known


def _find_bits(token: str) -> int:
    bits = 0
    for word in _WORD.findall(token.lower()):
        if word not in STOP_WORDS:
            bits |= 1 << (crc32(word.encode()) & (BAG_BITS - 1))
        bits |= _CUE_BITS.get(word, 0) << BAG_BITS
    return bits


_bits_of = _Memo(_find_bits).__getitem__


def bag_of(tokens: Iterable[str]) -> int:
    """One integer: a 256-bit hashed bag of words of three letters and more, cue bits above it.

    Args:
        tokens: A text split by white space, which no word spans: tokens repeat, so each is looked
            up whole, for a fifth of what finding its words takes.
    """
    return reduce(or_, map(_bits_of, tokens), 0)


def lead_of(words: list[str]) -> int:
    """Class of the first verb among the words, 0 when there is none."""
    for word in words:
        if code := _LEADS.get(word):
            return code
    return 0


def _find_opener(token: str) -> int:
    """How many tokens on the clause begins that the token opens; 0 when it opens none."""
    return CLAUSE_OPENERS.get(token.lower(), 0)


_opener_of = _Memo(_find_opener).__getitem__


def clause_words(text: str, tokens: list[str], limit: int) -> list[str]:
    """Plain words of the clause that says what comes next, else of the beginning.

    Args:
        text: Looked at for Chinese. tokens: The same, split by white space.
        limit: Most words.
    """
    if not text.isascii() and (translated := translate_cjk(text, limit)):
        return translated
    tokens = tokens[:40]
    begin = 0
    if any(skips := list(map(_opener_of, tokens[:32]))):
        begin = next(position + skip for position, skip in enumerate(skips) if skip)
    return plain_words(tokens[begin : begin + 16], limit) or plain_words(tokens[:16], limit)


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


_look_of = _Memo(_look_at).__getitem__
_SILENT: _Look = ("", False, False, False, False, False)


def _find_simple(token: str) -> str | None:
    """The token's word, "" when it is not kept; None when names of people have to be looked for."""
    if _DIGIT.search(token):
        return ""
    lower, capital, _, named, keeps, _ = _look_of(token) or _SILENT
    if lower and (capital or named):
        return None
    return lower if keeps else ""


_simple_of = _Memo(_find_simple).__getitem__


def _simple_words(tokens: list[str]) -> list[str] | None:
    """All plain words where none has a capital but the first; None otherwise."""
    words = list(map(_simple_of, tokens))
    if words and words[0] is None:
        lower, _, _, named, keeps, _ = _look_of(tokens[0]) or _SILENT
        words[0] = None if named else lower if keeps else ""
    if None in words:
        return None
    return list(dict.fromkeys(filter(None, words)))


def plain_words(tokens: list[str], limit: int) -> list[str]:
    """Words that may be kept: plain letters, no stop words, nothing like a name of a person.

    A token that is part of a path, address, key or identifier is not plain, so none of its pieces
    is kept either.
    """
    if (simple := _simple_words(tokens)) is not None:
        return simple[:limit]
    kept: list[str] = []
    begins = True  # the next word begins a sentence, where a capital says nothing
    person = False  # the next capital word belongs to a name
    capital_before, lower_before = False, ""
    for look in map(_look_of, tokens):
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
