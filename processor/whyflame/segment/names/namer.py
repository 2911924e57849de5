"""From evidence words to a name: verb of the table, then one or two object words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.content.activity import ACTIVITIES
from whyflame.content.features import RECORD_BYTES, decode_words
from whyflame.content.languages import translate_german

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.tables import NameTables

__all__ = ["DEFAULT_ROOT", "Namer"]

DEFAULT_ROOT = "handle request"
_EVIDENCE_STEPS = 4
_TOPIC_STEPS = 16
_MIN_WORD = 3
_GENERAL_BONUS, _TOPIC_BONUS = 3.0, 2.0
_ACTIVITY_VERBS = {
    "inspect": "inspect", "search": "find", "edit": "update", "create": "create", "test": "test",
    "install": "install", "build": "compile", "run": "run", "vcs": "deploy", "net": "gather",
    "wait": "wait", "delegate": "delegate", "plan": "plan", "think": "plan", "remove": "update",
    "compute": "compute", "lookup": "gather", "change": "update", "submit": "report",
    "reply": "report", "ask": "handle", "hint": "handle", "gui": "run", "tool": "run",
    "none": "handle",
}  # fmt: skip
_WEAK = frozenset(["handle", "run", "wait", "gather", "plan"])
_Words = tuple[str, ...]


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
    """

    def __init__(self, tables: NameTables) -> None:
        self.tables = tables
        self._memo: dict[str, str] = {}

    def root(self, lane: Lane) -> str:
        """Name of the lane's goal, from the first request."""
        for features in (lane.request, *(step.features for step in lane.steps[:3])):
            asked = decode_words(features)[1] if features else ()
            if asked:
                verb, objects = self._read(asked)
                if objects or verb:
                    return self._compose(verb or "handle", objects[:2] or ["request"])
        return DEFAULT_ROOT

    def topics(self, lane: Lane) -> dict[str, float]:
        """Object words of the lane as a whole: those of the request weigh most."""
        weights: dict[str, float] = {}
        if lane.request:
            for word in self._objects(decode_words(lane.request)[1]):
                weights[word] = 2.0
        return weights

    def name(
        self, steps: Sequence[Step], activity: int, topics: dict[str, float]
    ) -> tuple[str, list[str]]:
        """Verb and objects, best first, of an interval.

        Args:
            steps: The interval's steps.
            activity: Its dominant activity (code).
            topics: See `topics`.
        """
        said_verb = ""
        weights: dict[str, float] = {}
        for position, step in enumerate(steps[:_EVIDENCE_STEPS]):
            weight = 2.0 if position == 0 else 1.0
            verb = self._weigh_step(step, weight, weights)
            if verb and (not said_verb or said_verb in _WEAK):
                said_verb = verb
        verb = said_verb or _ACTIVITY_VERBS[ACTIVITIES[activity]]
        general = self.tables.general
        for word in weights:
            if word in general:
                weights[word] *= _GENERAL_BONUS
            if word in topics:
                weights[word] *= _TOPIC_BONUS
        ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        objects = [word for word, _ in ranked]
        return verb, objects or list(topics)[:1] or ["work"]

    def candidates(self, verb: str, objects: Sequence[str]) -> list[str]:
        """Names to try in order, the plainest first; later ones tell neighbours apart."""
        names = [self._compose(verb, objects[:1])]
        names += [self._compose(verb, [objects[0], other]) for other in objects[1:3]]
        names += [self._compose(verb, [other]) for other in objects[1:3]]
        return names

    def _weigh_step(self, step: Step, weight: float, weights: dict[str, float]) -> str:
        """Add the step's object words to `weights`; the verb it says, if any."""
        verb = ""
        if step.features and len(step.features) > RECORD_BYTES:
            said, asked, *_ = decode_words(step.features)
            words = said or asked
            verb, objects = self._read(words)
            for place, word in enumerate(objects[:4]):
                weights[word] = weights.get(word, 0.0) + weight * (1.5 - 0.25 * place)
        for call in step.calls[:2]:
            if call.features and len(call.features) > RECORD_BYTES:
                _, _, did, touched, planned, _ = decode_words(call.features)
                for word in self._objects(touched)[:3]:
                    weights[word] = weights.get(word, 0.0) + weight * 0.6
                for word in self._objects(did[1:]):
                    weights[word] = weights.get(word, 0.0) + weight * 0.4
                if planned:
                    verb, objects = self._read(planned)
                    for word in objects[:3]:
                        weights[word] = weights.get(word, 0.0) + 4.0
        return verb

    def _read(self, words: _Words) -> tuple[str, list[str]]:
        """First verb and the object words, canonical, in order."""
        verb, objects = "", []
        for word in words:
            english = self._english(word)
            for piece in english.split():
                found = self.tables.verbs.get(piece)
                if found is not None and (not verb or verb in _WEAK):
                    verb = found
                elif (used := self._object(piece)) and used not in objects:
                    objects.append(used)
        return verb, objects

    def _objects(self, words: Iterable[str]) -> list[str]:
        objects = []
        for word in words:
            if (used := self._object(word)) and used not in objects:
                objects.append(used)
        return objects

    def _object(self, word: str) -> str:
        """The object word to use, "" for words that say nothing."""
        used = self._memo.get(word)
        if used is None:
            used = self._memo[word] = self._find_object(word)
        return used

    def _find_object(self, word: str) -> str:
        tables = self.tables
        if word in tables.objects:
            return tables.objects[word]
        if word in tables.stop or word in tables.verbs or len(word) < _MIN_WORD:
            return ""
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            single = word[:-1]
            if single in tables.stop or single in tables.verbs:
                return ""
            return tables.objects.get(single, single if len(single) >= _MIN_WORD else word)
        if word.endswith(("ing", "ed", "ly")) and word not in ("string", "embed", "thing"):
            return ""
        return word

    def _english(self, word: str) -> str:
        if word in self.tables.verbs or word in self.tables.objects:
            return word
        translated = translate_german(word)
        return word if translated is None else translated

    def _compose(self, verb: str, objects: Sequence[str]) -> str:
        words = [word for word in objects if word != verb][:2]
        return " ".join([verb, *words])
