"""Requests in Chinese and German: a shipped lexicon turns their words into English ones.

The lexicon is read once, and only when a text needs it: Chinese is split by it while indexing
(it has no spaces); German words are looked up when an interval is named.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

import yaml

__all__ = ["german_lexicon", "translate_cjk", "translate_german"]

_CJK = re.compile("[\u4e00-\u9fff]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_MIN_STEM = 4


@cache
def _lexicon(language: str) -> dict[str, str]:
    text = files("whyflame.content").joinpath(f"lexicon_{language}.yaml").read_text("utf-8")
    entries: dict[str, str] = {}
    for english, words in yaml.safe_load(text).items():
        for word in words:
            entries[word] = english.rstrip("_")
    return entries


@cache
def _cjk_pattern() -> re.Pattern[str]:
    words = sorted(_lexicon("zh"), key=len, reverse=True)
    return re.compile("|".join(re.escape(word) for word in words) + "|[A-Za-z]{2,20}")


def translate_cjk(text: str, limit: int) -> list[str]:
    """English words for the known Chinese ones, in order; empty when the text is not Chinese."""
    if _CJK.search(text) is None:
        return []
    lexicon, found = _lexicon("zh"), []
    for match in _cjk_pattern().finditer(text):
        word = lexicon.get(match[0]) or match[0].lower()
        for piece in word.split():
            if piece not in found:
                found.append(piece)
        if len(found) >= limit:
            break
    return found[:limit]


@cache
def german_lexicon() -> dict[str, str]:
    """German word (lower case, umlauts written out) -> English word."""
    return {word.translate(_UMLAUTS): english for word, english in _lexicon("de").items()}


@lru_cache(maxsize=65_536)
def translate_german(word: str) -> str | None:
    """English for a German word, also for compounds ("anmeldefehler" -> "login error")."""
    lexicon = german_lexicon()
    plain = word.translate(_UMLAUTS)
    if plain in lexicon:
        return lexicon[plain]
    for ending in ("en", "es", "er", "e", "n", "s"):
        if plain.endswith(ending) and plain[: -len(ending)] in lexicon:
            return lexicon[plain[: -len(ending)]]
    for cut in range(_MIN_STEM, len(plain) - _MIN_STEM + 1):
        head, tail = plain[:cut], plain[cut:]
        if tail in lexicon and (first := lexicon.get(head) or lexicon.get(head.rstrip("s"))):
            return f"{first} {lexicon[tail]}"
    return None
