"""Clauses of kept words: which of them is the verb, which are objects, as names use them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from whyflame.content.languages import translate_german

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyflame.segment.names.tables import NameTables

__all__ = ["WEAK_VERBS", "ClauseReader"]

WEAK_VERBS = frozenset(["handle", "run", "wait", "plan"])
# A request's first verb gives way to a more telling one: "see the bursts, diagnose authentication".
_VAGUE = WEAK_VERBS | {"inspect", "find"}
# Verbs the shipped model has hardly met: who says them is believed, whatever the steps look like.
_TELLING = frozenset(
    "diagnose translate summarize refund restore triage migrate pay send deploy compare".split()
)
# Often said of something else, so that the model decides: "debug" of plain reading, "host" of nouns.
_LOOSE = frozenset(
    "debug investigate host ship commit push port charge post message upload publish".split()
)
_LEADING = 2  # words of a clause among which its verb stands
_MIN_WORD = 3
_MEMO_LIMIT = 50_000
_HARDLY_NOUNS = ("ing", "ed", "ly", "ive", "ous", "able", "ful", "est", "ical")
_NOUNS_ALL_THE_SAME = (
    "test",
    "quest",
    "forest",
    "interest",
    "guest",
    "manifest",
    "digest",
    "table",
)
_Words = tuple[str, ...]
_Piece = tuple[str, str, bool]


class ClauseReader:
    """Reads kept words with the tables; remembers what it has read.

    Args:
        tables: Verbs, aliases, stop words.
    """

    def __init__(self, tables: NameTables) -> None:
        self.tables = tables
        self._objects_of: dict[str, str] = {}
        self._read_so_far: dict[_Words, tuple[str, list[str]]] = {}
        self._pieces: dict[str, tuple[_Piece, ...]] = {}

    def read(self, words: _Words) -> tuple[str, list[str]]:
        """First telling verb and the object words, canonical, those behind the verb first."""
        found = self._read_so_far.get(words)
        if found is None:
            if len(self._read_so_far) >= _MEMO_LIMIT:
                self._read_so_far.clear()
            found = self._read_so_far[words] = self._read_clause(words)
        return found

    def _read_clause(self, words: _Words) -> tuple[str, list[str]]:
        verb, objects, before = "", list[str](), list[str]()
        unsure: tuple[str, str] | None = None
        for found, used, noun in (
            piece for word in self._unwrap(words) for piece in self._pieces_of(word)
        ):
            if found and noun:
                unsure = unsure or (found, used)
            elif found and (
                not verb or verb in WEAK_VERBS or (verb in _VAGUE and found in _TELLING)
            ):
                if verb:  # what was said before it is less telling
                    before, objects = before + objects, []
                verb = found
                continue
            if used and used not in objects:
                objects.append(used)
        objects += [word for word in before if word not in objects]
        if not verb and unsure:
            verb = unsure[0]
            objects = [word for word in objects if word != unsure[1]] or objects
        for head in self.tables.heads.keys() & set(objects):
            objects = [word for word in objects if word not in self.tables.heads[head]]
        return verb, objects

    def _unwrap(self, words: _Words) -> Iterable[str]:
        """The words without neighbours that only wrap what is said."""
        wrapped = {at for at, pair in enumerate(pairwise(words)) if pair in self.tables.wrappers}
        return (word for at, word in enumerate(words) if not {at, at - 1} & wrapped)

    def telling_verb(self, words: _Words) -> str:
        """The verb a clause begins with, if it is one that means one thing; else ""."""
        for word in words[:_LEADING]:
            verb = "" if word in _LOOSE else self.tables.verb_of(word)
            if verb in _TELLING and not self._may_be_noun(word, verb):
                return verb
        return ""

    def _may_be_noun(self, word: str, verb: str) -> bool:
        """As often a noun: "order", "release"; not where the verb of the table is the word."""
        return self._object(word) in self.tables.general and word != verb

    def objects(self, words: Iterable[str]) -> list[str]:
        """The object words among words, canonical, each once."""
        objects: list[str] = []
        for word in words:
            if (used := self._object(word)) and used not in objects:
                objects.append(used)
        return objects

    def _object(self, word: str) -> str:
        """The object word to use, "" for words that say nothing."""
        used = self._objects_of.get(word)
        if used is None:
            if len(self._objects_of) >= _MEMO_LIMIT:
                self._objects_of.clear()
            used = self._objects_of[word] = self._find_object(word)
        return used

    def _find_object(self, word: str) -> str:
        tables = self.tables
        if word in tables.objects:
            return tables.objects[word]
        if word in tables.general or word in tables.qualifiers:
            return word
        if word in tables.stop or word in tables.verbs or len(word) < _MIN_WORD:
            return ""
        if (one := tables.singular(word)) != word:
            return self._find_object(one)
        if word.endswith(_HARDLY_NOUNS) and not word.endswith(_NOUNS_ALL_THE_SAME):
            return ""
        return word

    def _pieces_of(self, word: str) -> tuple[_Piece, ...]:
        """Of each English word in it: verb or "", object word or "", whether it may be a noun."""
        pieces = self._pieces.get(word)
        if pieces is None:
            if len(self._pieces) >= _MEMO_LIMIT:
                self._pieces.clear()
            found = [(piece, self.tables.verb_of(piece) or "") for piece in self._english(word)]
            pieces = self._pieces[word] = tuple(
                (verb, self._object(piece), self._may_be_noun(piece, verb)) for piece, verb in found
            )
        return pieces

    def _english(self, word: str) -> _Words:
        if word in self.tables.verbs or word in self.tables.objects:
            return (word,)
        translated = translate_german(word)
        return (word,) if translated is None else tuple(translated.split())
