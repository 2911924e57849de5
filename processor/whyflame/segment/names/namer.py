"""From evidence words to names: verb of the table, then one or two object words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from whyflame.segment.names.clauses import ClauseReader
from whyflame.segment.names.evidence import NOTHING, Lexicon
from whyflame.segment.names.focus import LaneFocus
from whyflame.segment.names.pieces import gather, look_at_doings, read_pieces, read_request
from whyflame.segment.names.ranking import describe
from whyflame.segment.names.spoken import choose_verbs
from whyflame.segment.names.wording import Wording, load_wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from whyflame.segment.lane import Lane
    from whyflame.segment.names.pieces import Stretches
    from whyflame.segment.names.ranking import Words
    from whyflame.segment.names.spelling import Naming
    from whyflame.segment.names.tables import NameTables

    Rows = NDArray[np.int64]

__all__ = ["DEFAULT_ROOT", "Named", "Namer"]

DEFAULT_ROOT = "handle request"
_SAYS_NOTHING = "work"


@dataclass(frozen=True, slots=True)
class Named:
    """What an interval can be called.

    Attributes:
        naming: Names of it and others. group: Which it is.
    """

    naming: Naming
    group: int

    @property
    def verb(self) -> str:
        """The likeliest verb."""
        return self.naming.verb(self.group)

    @property
    def objects(self) -> list[str]:
        """Object words, likeliest first."""
        return self.naming.objects(self.group) or [_SAYS_NOTHING]

    def names(self) -> Iterator[str]:
        """Names, best first."""
        if self.naming.has(self.group):
            return self.naming.spell(self.group)
        return iter((f"{self.verb} {_SAYS_NOTHING}",))


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
        wording: Other weights and shared names than the shipped ones, for cross-validation.
    """

    def __init__(self, tables: NameTables, wording: Wording | None = None) -> None:
        self.tables = tables
        self._wording = wording
        self._clauses = ClauseReader(tables)
        self._lexicon = Lexicon(tables, self._clauses)

    def _current(self) -> Lexicon:
        """What has been read so far, while it is bounded; a caller keeps what it began with."""
        if self._lexicon.is_full():
            self._lexicon = Lexicon(self.tables, self._clauses)
        return self._lexicon

    def root(self, lane: Lane, verb: str = "") -> str:
        """Name of the lane's goal, from the first request.

        Args:
            lane: With its request, or with steps that carry it.
            verb: Used when the request has none.
        """
        usual = verb or "handle"
        found, objects = read_request(lane, self._current())
        objects = self._without_loose_ends(objects[:2])
        if not found and not objects:
            return DEFAULT_ROOT
        return " ".join([found or usual, *(objects or ["request"])])

    def _without_loose_ends(self, objects: list[str]) -> list[str]:
        """A qualifier stands before the word that it qualifies, or not at all."""
        if objects and objects[-1] in self.tables.qualifiers:
            return objects[-1:] + objects[:-1] if len(objects) > 1 else []
        return objects

    def name(self, lanes: Sequence[Lane], stretches: Stretches) -> list[Named]:
        """Verb and object words of intervals; the same for each whatever else is asked.

        Args:
            lanes: All lanes of the batch.
            stretches: Their intervals.
        """
        wording = self._wording or load_wording()
        found, spelled, verbs, odds = self.describe(lanes, stretches)
        naming = wording.choose(found, spelled, verbs, odds, stretches.ends - stretches.starts)
        return [Named(naming, group) for group in range(len(stretches.lanes))]

    def describe(
        self, lanes: Sequence[Lane], stretches: Stretches
    ) -> tuple[Words, list[str], Rows, NDArray[np.float64]]:
        """What `Wording.choose` is asked: words of intervals, words by number, verbs, their odds."""
        lexicon = self._current()
        requests = [read_request(lane, lexicon)[1] for lane in lanes]
        numbers = np.asarray([lexicon.number(verb) for verb in stretches.verbs], np.int64)
        usual = numbers[stretches.codes]
        pieces, first, looked = read_pieces(lexicon, lanes, stretches)
        evidence = lexicon.arrays()
        focus = LaneFocus(lexicon, requests, gather(evidence, pieces), looked)
        verbs, odds = choose_verbs(evidence, first, stretches.turned, usual, stretches.odds)
        asked = np.where(stretches.turned, evidence.asked[first[:, 0, 0]], NOTHING)
        entries = gather(evidence, np.column_stack([asked, first.reshape(len(first), -1)]))
        found = describe(lexicon, entries, look_at_doings(stretches), verbs[:, 0], focus)
        return found, lexicon.words, verbs, odds

    def candidates(self, named: Named, *, many: bool = False) -> Iterator[str]:
        """Names to try in order, the best first; later ones tell neighbours apart.

        Args:
            named: Of the interval.
            many: Go on through its object words, then say that the work is repeated.
        """
        if not many:
            return named.names()
        verb, objects = named.verb, named.objects
        others = (f"{verb} {word}" for word in objects if word != verb)
        return chain(named.names(), others, (f"repeat {verb} {objects[0]}",))
