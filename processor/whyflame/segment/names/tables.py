"""The tables names are made from: verbs, object aliases, words that say nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from whyflame.content.vocabulary import PRODUCTS
from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NameTables", "load_tables"]

_ENDINGS = ("ing", "ed", "es", "s")
_MIN_STEM = 3
_ALSO_PLURALS = frozenset(["teams", "windows"])  # products, and things of which there are many
_LONG_PLURAL = re.compile("(ch|sh|ss|x)es$")  # boxes, matches
_SHORT_ALL_THE_SAME = re.compile("[^aeiou]aches$")  # caches, headaches


@dataclass(frozen=True)
class NameTables:
    """Look-ups of the namer.

    Attributes:
        verbs: Word -> the verb names use.
        objects: Word -> the object word names use.
        general: Object words that many runs share.
        heads: Object word -> words that give way to it in one clause.
        qualifiers: Words that only stand in front of an object word.
        stop: Words never used as objects.
        uncounted: Words that end in s and are one thing.
        wrappers: Two neighbours that only wrap what is said.
    """

    verbs: dict[str, str]
    objects: dict[str, str]
    general: frozenset[str]
    heads: dict[str, frozenset[str]]
    qualifiers: frozenset[str]
    stop: frozenset[str]
    uncounted: frozenset[str]
    wrappers: frozenset[tuple[str, ...]]

    def is_verb(self, word: str) -> bool:
        """Whether a name may begin with it."""
        return word in self.verbs

    def singular(self, word: str) -> str:
        """The word for one of it: as listed, or without the ending of plurals."""
        if word in self.uncounted or word.endswith(("ss", "us", "is")):
            return word
        if word.endswith("ies"):
            return word[:-3] + "y"
        if _LONG_PLURAL.search(word) and not _SHORT_ALL_THE_SAME.search(word):
            return word[:-2]
        return word.removesuffix("s")

    def verb_of(self, word: str) -> str | None:
        """The verb names use for a word: as listed, in British spelling, or with -ing, -ed, -s."""
        if word in self.verbs:
            return self.verbs[word]
        return next((self.verbs[form] for form in _base_forms(word) if form in self.verbs), None)


def load_tables(names_file: str = "") -> NameTables:
    """The shipped tables, with the team's additions on top.

    Args:
        names_file: YAML with any of `verbs`, `objects` (word used: [synonyms]) and `stop`.

    Raises:
        ConfigError: The file cannot be read or has another shape.
    """
    shipped = _shipped()
    if not names_file:
        return shipped
    added = _read_file(names_file)
    return replace(
        shipped,
        verbs={**shipped.verbs, **_invert(added.get("verbs", {}), names_file)},
        objects={**shipped.objects, **_invert(added.get("objects", {}), names_file)},
        general=shipped.general | frozenset(map(str, added.get("objects", {}))),
        stop=shipped.stop | frozenset(map(str, added.get("stop", []))),
    )


@cache
def _shipped() -> NameTables:
    here = files("whyflame.segment.names")
    verbs = yaml.safe_load(here.joinpath("verbs.yaml").read_text("utf-8"))
    objects = yaml.safe_load(here.joinpath("objects.yaml").read_text("utf-8"))
    return NameTables(
        verbs=_invert(verbs, "verbs.yaml"),
        objects=_invert(objects["aliases"], "objects.yaml"),
        general=frozenset(str(word) for word in objects["general"]),
        heads={str(head): frozenset(words) for head, words in objects["heads"].items()},
        qualifiers=frozenset(objects["qualifiers"]),
        stop=frozenset(str(word) for word in objects["stop"]),
        uncounted=frozenset(objects["uncounted"]) | (PRODUCTS - _ALSO_PLURALS),
        wrappers=frozenset(tuple(pair.split()) for pair in objects["wrappers"]),
    )


def _base_forms(word: str) -> Iterator[str]:
    """What the word may be a form of: "translating" -> "translat", "translate"."""
    forms = [word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            stem = word[: -len(ending)]
            forms += [stem, stem + "e"]
            if stem[-1] == stem[-2]:
                forms.append(stem[:-1])  # running
            if stem[-1] == "i":
                forms.append(stem[:-1] + "y")  # verified
    for form in forms:
        yield form
        if form.endswith(("ise", "yse")):
            yield form[:-2] + "ze"  # summarise, analyse


def _read_file(names_file: str) -> dict[str, Any]:
    try:
        added = yaml.safe_load(Path(names_file).read_text("utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"segment.names_file: {names_file}: {error}") from error
    if not isinstance(added, dict) or not set(added) <= {"verbs", "objects", "stop"}:
        raise ConfigError(f"segment.names_file: {names_file}: keys are verbs, objects and stop")
    return added


def _invert(table: dict[Any, Any], where: str) -> dict[str, str]:
    """{used: [words]} -> {word: used}; the first line that has a word wins."""
    inverted: dict[str, str] = {}
    for used, words in table.items():
        if not isinstance(words, list) or not str(used).isalpha():
            raise ConfigError(f"{where}: {used!r}: expected a word and a list of words")
        for word in (used, *words):
            inverted.setdefault(str(word).lower(), str(used).lower())
    return inverted
