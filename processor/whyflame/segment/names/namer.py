"""From evidence words to a name: verb of the table, then one or two object words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whyflame.content.features import RECORD_BYTES, decode_words
from whyflame.content.languages import translate_german
from whyflame.content.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.tables import NameTables

__all__ = ["DEFAULT_ROOT", "Namer"]

DEFAULT_ROOT = "handle request"
_EVIDENCE_STEPS = 3
_MIN_WORD = 3
_GENERAL_BONUS, _TOPIC_BONUS = 3.0, 2.0
_PLANNED, _ASKED, _TOUCHED, _DID, _NAMED = 8.0, 4.0, 0.6, 0.4, 0.2
_MEMO_LIMIT = 50_000
_WEAK = frozenset(["handle", "run", "wait", "plan"])
_SPLIT = re.compile(r"[A-Z]?[a-z]+")
_SAYS_NOTHING = "work"
_Words = tuple[str, ...]


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
    """

    def __init__(self, tables: NameTables) -> None:
        self.tables = tables
        self._objects_of: dict[str, str] = {}
        self._tools: dict[str, list[str]] = {}

    def root(self, lane: Lane) -> str:
        """Name of the lane's goal, from the first request."""
        for features in (lane.request, *(step.features for step in lane.steps[:3])):
            asked = decode_words(features)[1] if features else ()
            verb, objects = self._read(asked)
            if verb or objects:
                return " ".join([verb or "handle", *(objects[:2] or ["request"])])
        return DEFAULT_ROOT

    def topics(self, lane: Lane) -> frozenset[str]:
        """Object words of the request; names prefer them."""
        if not lane.request:
            return frozenset()
        return frozenset(self._read(decode_words(lane.request)[1])[1])

    def name(
        self, steps: Sequence[Step], verb: str, topics: frozenset[str], *, turned: bool = False
    ) -> tuple[str, list[str]]:
        """Verb and objects, best first, of an interval.

        Args:
            steps: The interval's steps.
            verb: What the steps do, by `VerbModel`; words that were said may know better.
            topics: See `topics`.
            turned: The first step begins a user turn, so what was asked counts.
        """
        weights: dict[str, float] = {}
        spoken = ""
        for position, step in enumerate(steps[:_EVIDENCE_STEPS]):
            share = 2.0 if position == 0 else 1.0
            said = self._weigh_step(step, share, weights, asked=turned and position == 0)
            spoken = spoken or said
        general = self.tables.general
        for word in weights:
            if word in general:
                weights[word] *= _GENERAL_BONUS
            if word in topics:
                weights[word] *= _TOPIC_BONUS
        ranked = sorted(weights.items(), key=_by_weight)
        objects = [word for word, _ in ranked if word != (spoken or verb)]
        return spoken or verb, objects or sorted(topics)[:1] or [_SAYS_NOTHING]

    def candidates(self, verb: str, objects: Sequence[str], *, many: bool = False) -> list[str]:
        """Names to try in order, the plainest first; later ones tell neighbours apart.

        Args:
            verb: Of the table.
            objects: Best first.
            many: Go on through all objects, then say that the work is repeated.
        """
        first, others = objects[0], list(objects[1:])
        names = [" ".join([verb, *objects[:2]])]
        names += [f"{verb} {first} {other}" for other in others[1:3]]
        names.append(f"{verb} {first}")
        names += [f"{verb} {other}" for other in (others if many else others[:2])]
        if many:
            names.append(f"repeat {first}" if verb == "repeat" else f"repeat {verb} {first}")
        return names

    def _weigh_step(
        self, step: Step, share: float, weights: dict[str, float], *, asked: bool
    ) -> str:
        """Add the step's object words; the verb that overrules the model, if there is one."""
        spoken = ""
        if step.features and len(step.features) > RECORD_BYTES:
            said, wanted, *_ = decode_words(step.features)
            if asked and wanted:
                spoken, objects = self._read(wanted)
                spoken = "" if spoken in _WEAK else spoken
                _add(weights, objects[:4], _ASKED * share / 2)
            if said:
                verb, objects = self._read(said)
                _add(weights, objects[:4], share)
                if (
                    verb
                    and not spoken
                    and said[0] not in self.tables.verbs
                    and self._is_foreign(said)
                ):
                    spoken = verb
        for call in step.calls[:2]:
            _add(weights, self._tool_words(call.tool), _NAMED * share)
            if call.features and len(call.features) > RECORD_BYTES:
                _, _, did, touched, planned, _ = decode_words(call.features)
                _add(weights, self._objects(touched)[:3], _TOUCHED * share)
                _add(weights, self._objects(did[1:]), _DID * share)
                if planned:
                    verb, objects = self._read(planned)
                    spoken = verb or spoken
                    _add(weights, objects[:3], _PLANNED)
        if not step.calls and step.agent:
            _add(weights, self._tool_words(step.agent), _NAMED * share)
        return spoken

    def _is_foreign(self, words: _Words) -> bool:
        """Whether the verb table knows none of the words as they stand."""
        return not any(word in self.tables.verbs for word in words)

    def _tool_words(self, tool: str) -> list[str]:
        """Object words in the name of a tool or agent."""
        words = self._tools.get(tool)
        if words is None:
            if len(self._tools) >= _MEMO_LIMIT:
                self._tools.clear()
            pieces = plain_words(_SPLIT.findall(tool[-60:]), 4)
            words = self._tools[tool] = self._objects(pieces)
        return words

    def _read(self, words: _Words) -> tuple[str, list[str]]:
        """First telling verb and the object words, canonical, in order."""
        verb, objects = "", []
        for word in words:
            for piece in self._english(word):
                found = self.tables.verbs.get(piece)
                if found is not None and (not verb or verb in _WEAK):
                    verb = found
                elif (used := self._object(piece)) and used not in objects:
                    objects.append(used)
        return verb, objects

    def _objects(self, words: Iterable[str]) -> list[str]:
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
        if word in tables.general:
            return word
        if word in tables.stop or word in tables.verbs or len(word) < _MIN_WORD:
            return ""
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            return self._find_object(word[:-1])
        if word.endswith(("ing", "ed", "ly", "ive", "ous", "able", "ful")):
            return ""
        return word

    def _english(self, word: str) -> _Words:
        if word in self.tables.verbs or word in self.tables.objects:
            return (word,)
        translated = translate_german(word)
        return (word,) if translated is None else tuple(translated.split())


def _add(weights: dict[str, float], words: Sequence[str], share: float) -> None:
    for place, word in enumerate(words):
        weights[word] = weights.get(word, 0.0) + share * (1.5 - 0.25 * place)


def _by_weight(item: tuple[str, float]) -> tuple[float, str]:
    return -item[1], item[0]
