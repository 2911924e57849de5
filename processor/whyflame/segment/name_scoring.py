"""How right names are: the one definition that `whyflame eval` and the benchmarks use.

An annotated name counts when one of its first three words is a verb of the table. The verb is right
when the table gives the name's first word the same verb. An object word is right when it is a word
of the annotated name other than that verb, both after the aliases of the table and without a plural
"s".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.segment.names import NameTables
    from whyflame.segment.segmenter import Mark

__all__ = ["Annotated", "canonical", "main_path", "paths_of", "read_annotated"]

_WORD = re.compile("[a-z]+")
_LEADING = 3
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A name that someone gave to a group.

    Attributes:
        tables: Verbs and aliases of both sides.
        verb: Of the table.
        words: All others, canonical.
    """

    tables: NameTables
    verb: str
    words: frozenset[str]

    def has_verb_of(self, name: str) -> bool:
        """Whether a name's verb is this one's."""
        return self.tables.verbs.get(name.split(maxsplit=1)[0]) == self.verb

    def has_object_of(self, names: Iterable[str]) -> bool:
        """Whether any object word of the names is one of these."""
        said = (word for name in names for word in name.split()[1:])
        return any(canonical(self.tables, word) in self.words for word in said)


def read_annotated(tables: NameTables, name: str | None) -> Annotated | None:
    """A group's annotated name; None where it has none, or none with a verb of the table."""
    words = _WORD.findall((name or "").lower())
    places = [at for at, word in enumerate(words[:_LEADING]) if word in tables.verbs]
    if not places:
        return None
    others = (word for at, word in enumerate(words) if at != places[0])
    return Annotated(
        tables, tables.verbs[words[places[0]]], frozenset(canonical(tables, w) for w in others)
    )


def canonical(tables: NameTables, word: str) -> str:
    """A word as it is compared."""
    return tables.objects.get(word) or tables.singular(word)


def paths_of(marks: Sequence[Mark], steps: int) -> list[Path]:
    """The path of every step."""
    at = {mark.step: mark.path for mark in marks}
    path: Path = ()
    return [path := at.get(step, path) for step in range(steps)]


def main_path(paths: Sequence[Path], groups: Sequence[int], group: int) -> Path:
    """The path that most steps of a group have."""
    carried = [path for path, at in zip(paths, groups, strict=True) if at == group]
    return max(carried, key=carried.count)
