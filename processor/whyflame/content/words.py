"""Words of a text: hashed bags with cue bits, and the few plain words that may be kept."""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from itertools import repeat
from operator import or_
from typing import ClassVar
from zlib import crc32

from whyflame.content.languages import translate_cjk
from whyflame.content.vocabulary import (
    CLAUSE_OPENERS,
    CUE_WORDS,
    CUES,
    GIVEN_NAMES,
    LEAD_WORDS,
    PRODUCTS,
    STOP_WORDS,
)

__all__ = [
    "BAG_BITS",
    "BEFORE_PEOPLE",
    "CUE_BITS",
    "EDGES",
    "HONORIFICS",
    "INTRODUCES",
    "INTRODUCTIONS",
    "LEADS",
    "MODALS",
    "OPENERS",
    "PLEA_WORDS",
    "bags_of",
    "clause_words",
    "known_words",
    "lead_of",
    "plain_words",
    "plea_at",
    "verb_sentence_at",
]

BAG_BITS = 256
_SHORTEST = 3
_LETTERS = bytes(at if ord("a") <= at <= ord("z") else ord(" ") for at in range(256))
_WORD_LIMIT = 20
_MEMO_LIMIT = 30_000
_MEMO_CHARS = 40
_QUOTED = re.compile(r"([\"'`]).+\1[.,:;!?)]*$")  # somebody's data: a value, a name, a password
_IDENTIFIER = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+){2,}$")  # DirFileSystem
_DIGITS = frozenset("0123456789")
EDGES = ".,:;!?()[]{}<>\"'`*#-—…“”’。，：；！？（）「」"  # noqa: RUF001
_STOPS = frozenset(word.encode() for word in STOP_WORDS)
CUE_BITS: dict[bytes, int] = {}
for _position, _cue in enumerate(CUES):
    for _cue_word in CUE_WORDS[_cue].encode().split():
        CUE_BITS[_cue_word] = CUE_BITS.get(_cue_word, 0) | 1 << _position
LEADS: dict[str, int] = {}
for _position, _words in enumerate(LEAD_WORDS.values()):
    for _word in _words.split():
        LEADS.setdefault(_word, _position + 1)
HONORIFICS = frozenset(["mr", "mrs", "ms", "dr", "prof", "herr", "herrn", "frau", "named", "dear"])
INTRODUCES = frozenset(["i'm", "i’m"])
INTRODUCTIONS = frozenset([("name", "is"), ("i", "am"), ("ich", "bin"), ("bin", "ich")])
# A capital word behind one of these is somebody's name, unless it is a product's.
BEFORE_PEOPLE = frozenset(
    """for customer client user patient passenger guest employee colleague member kunde kunden kundin
    nutzer""".split()
)


class _Bits(dict[str, int]):
    """Token without digits -> the bag bits and cue bits of its words; what is missing is noted.

    Tokens that hold digits often never come again (ids): they are read together, a text at a time,
    and not remembered.
    """

    missing: ClassVar[list[str]] = []
    # A look-up that finds nothing notes the token and gives None, all of it without Python code.
    __missing__ = missing.append


_bits = _Bits()
_look_up = _bits.__getitem__
# Token -> its word, "" when it is not kept; None when names of people have to be looked for.
_SIMPLE: dict[str, str | None] = {}


def bags_of(texts: list[list[str]]) -> list[int]:
    """One integer a text: a 256-bit hashed bag of words of three letters and more, cue bits above it.

    What `known_words` needs of these texts is kept until the next call; one thread at a time.

    Args:
        texts: Split by white space, which no word spans: tokens repeat, so each is looked up whole,
            for a fifth of what finding its words takes.
    """
    if len(_bits) > _MEMO_LIMIT:
        _bits.clear()
        _SIMPLE.clear()
    bags: list[int] = []
    missing = _bits.missing
    missing.clear()
    for tokens in texts:
        bits = reduce(or_, filter(None, map(_look_up, tokens)), 0)
        if missing:
            bits |= _learn(missing)
            missing.clear()
        bags.append(bits)
    return bags


def _learn(tokens: list[str]) -> int:
    """Bits of unseen tokens, which are remembered where they may come again."""
    bits = 0
    once: list[str] = []
    for token in tokens:
        if len(token) > _MEMO_CHARS or not _DIGITS.isdisjoint(token):
            once.append(token)
        else:
            found = _bits[token] = _bits_of(token)
            bits |= found
            _SIMPLE[token] = _find_simple(token)
    return bits | _bits_of(" ".join(once)) if once else bits


def _bits_of(text: str) -> int:
    bits = 0
    for word in text.lower().encode("utf-8", "replace").translate(_LETTERS).split():
        if len(word) >= _SHORTEST:
            if word not in _STOPS:
                bits |= 1 << (crc32(word) & (BAG_BITS - 1))
            if word in CUE_BITS:
                bits |= CUE_BITS[word] << BAG_BITS
    return bits


def lead_of(words: list[str]) -> int:
    """Class of the first verb among the words, 0 when there is none."""
    for word in words:
        if code := LEADS.get(word):
            return code
    return 0


OPENERS = {
    spelled: skip
    for word, skip in CLAUSE_OPENERS.items()
    for spelled in (word, word.capitalize(), word.upper())
}
_OPENING = OPENERS.keys()
PLEA_WORDS = frozenset(["please", "bitte"])
MODALS = frozenset(["can", "could", "would", "will"])
_PLEA_WITHIN = 40
_ENDS = ".:!?"


def plea_at(tokens: list[str]) -> int:
    """Where the words after "please" or "can you" begin, or the sentence that ends so; else 0."""
    for position in _plea_candidates(tokens[:_PLEA_WITHIN]):
        word = tokens[position].lower().strip(EDGES)
        before = tokens[position - 1].lower().strip(EDGES) if position else ""
        if word in PLEA_WORDS or (word == "you" and before in MODALS):
            if tokens[position][-1] in _ENDS or position + 1 == len(tokens):
                return _sentence_at(tokens, position)
            return position + 1
    return 0


def _plea_candidates(tokens: list[str]) -> list[int]:
    """Positions of tokens with a plea in them, found by three searches instead of word by word."""
    text = " ".join(tokens).lower()
    found: set[int] = set()
    for word in ("please", "bitte", "you"):
        at = text.find(word)
        while at >= 0:
            found.add(text.count(" ", 0, at))
            at = text.find(word, at + len(word))
    return sorted(found)


def _sentence_at(tokens: list[str], position: int) -> int:
    """Where the sentence of a token begins."""
    while position and tokens[position - 1][-1] not in _ENDS:
        position -= 1
    return position


def verb_sentence_at(tokens: list[str], limit: int) -> int:
    """Begin of the first sentence with a lead verb among the first telling words, else 0.

    Args:
        tokens: Of a prompt.
        limit: How many telling words may stand before the verb.
    """
    sentence = telling = 0
    for position, token in enumerate(tokens):
        word = token.lower().strip(EDGES)
        if word in LEADS:
            return sentence
        telling += word not in STOP_WORDS
        if telling > limit:
            break
        if token[-1] in _ENDS:
            sentence = position + 1
    return 0


def clause_words(text: str, tokens: list[str], limit: int) -> list[str]:
    """Plain words of the clause that says what comes next, else of the beginning.

    Args:
        text: Looked at for Chinese.
        tokens: The same, split by white space, after `bags_of` has seen them.
        limit: Most words.
    """
    if not text.isascii() and (translated := translate_cjk(text, limit)):
        return translated
    tokens = tokens[:40]
    begin, first = 0, tokens[:32]
    if not _OPENING.isdisjoint(first):
        begin = next(at + OPENERS[token] for at, token in enumerate(first) if token in OPENERS)
    return known_words(tokens[begin : begin + 16], limit) or known_words(tokens[:16], limit)


_Look = tuple[str, bool, bool, bool, bool, bool]
"""Lower-case word or "", capital, title, names or introduces a person, to be kept, ends a sentence."""


@lru_cache(maxsize=_MEMO_LIMIT)
def _look_at(token: str) -> _Look | None:
    ends = token[-1:] in ".:!?"
    word = token.strip(EDGES)
    if _QUOTED.match(token) or _IDENTIFIER.match(word):
        return None
    if not word.isalpha() or len(word) > _WORD_LIMIT:
        word = word.replace("-", "").replace("'s", "")
        if not word.isalpha() or len(word) > _WORD_LIMIT or "-" not in token:
            introduces = token.lower() in INTRODUCES
            return ("", False, False, introduces, False, ends) if ends or introduces else None
    lower = word.lower()
    title = lower in HONORIFICS
    return (
        lower,
        word[0] != lower[0] and not word.isupper(),
        title,
        title or lower in GIVEN_NAMES,
        lower not in STOP_WORDS and len(lower) > 1,
        ends,
    )


_SILENT: _Look = ("", False, False, False, False, False)


def _find_simple(token: str) -> str | None:
    lower, capital, _, named, keeps, _ = _look_at(token) or _SILENT
    if lower and (capital or named):
        return None
    return lower if keeps else ""


def known_words(tokens: list[str], limit: int) -> list[str]:
    """`plain_words` of tokens that `bags_of` has seen: those it did not keep are none.

    Where no word but the first has a capital, nothing can be part of a name by its neighbours.
    """
    few = 2 * limit  # nearly always enough: the rest need not be looked up
    words = list(map(_SIMPLE.get, tokens[:few], repeat("")))
    if words and words[0] is None:
        lower, _, _, named, keeps, _ = _look_at(tokens[0]) or _SILENT
        words[0] = None if named else lower if keeps else ""
    kept = dict.fromkeys(words)
    if len(kept) <= limit and len(tokens) > few:
        kept.update(dict.fromkeys(map(_SIMPLE.get, tokens[few:], repeat(""))))
    if None in kept:
        return plain_words(tokens, limit)
    return [word for word in kept if word][:limit]


def plain_words(tokens: list[str], limit: int) -> list[str]:
    """Words that may be kept: plain letters, no stop words, nothing like a name of a person.

    A token that is part of a path, address, key or identifier is not plain, so none of its pieces
    is kept either.
    """
    kept: list[str] = []
    begins = True  # the next word begins a sentence, where a capital says nothing
    person = False  # the next capital word belongs to a name
    capital_before, lower_before, comma_before = False, "", False
    for token, look in zip(tokens, map(_look_at, tokens), strict=True):
        called, comma_before = comma_before, token[-1:] == ","  # "..., Hana."
        if look is None:
            begins, person, capital_before, lower_before = False, False, False, ""
            continue
        lower, capital, title, named, keeps, ends = look
        if not lower:
            begins, person = ends, named
            capital_before, lower_before = False, ""
            continue
        capital = capital and not begins and lower not in PRODUCTS
        if named:
            person, capital = True, False
        elif capital and (person or capital_before or (called and ends)):
            person = True
            if capital_before and kept and kept[-1] == lower_before:
                kept.pop()  # two capital words in a row: a name of two parts
        else:
            person = lower in BEFORE_PEOPLE or (lower_before, lower) in INTRODUCTIONS
            if keeps and lower not in kept:
                kept.append(lower)
                if len(kept) == limit:
                    break
        begins = ends and not title
        capital_before, lower_before = capital, lower
    return kept
