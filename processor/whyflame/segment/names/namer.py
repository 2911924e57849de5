"""From evidence words to a name: verb of the table, then one or two object words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.content.features import RECORD_BYTES, decode_words
from whyflame.content.words import plain_words
from whyflame.segment.names.clauses import WEAK_VERBS, ClauseReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.segment.lane import Lane, Step
    from whyflame.segment.names.tables import NameTables

__all__ = ["DEFAULT_ROOT", "Namer", "Topics"]

DEFAULT_ROOT = "handle request"
_EVIDENCE_STEPS, _FOCUS_STEPS = 6, 8
_ASKED_WITHIN = 3  # steps of which one tells the request, where no span of its own does
_GENERAL_BONUS, _COMMON_BONUS, _TOPIC_BONUS = 10.0, 8.0, 10.0
_GOES_WITH_BONUS = 30.0
_NONE: frozenset[str] = frozenset()
_PLANNED, _ASKED, _TOUCHED, _DID, _NAMED = 8.0, 2.0, 0.6, 0.4, 0.05
_MEMO_LIMIT = 50_000
# Other work merely meets errors: a refund that fails is a refund.
_ABOUT_ERRORS = frozenset("diagnose fix inspect find reproduce test handle".split())
_SPLIT = re.compile(r"[A-Z]?[a-z]+")
_SAYS_NOTHING = "work"


@dataclass(slots=True)
class _Evidence:
    """What one span's kept words say: verbs and weighted object words."""

    said_verb: str = ""
    asked_verb: str = ""
    planned_verb: str = ""
    words: tuple[tuple[str, float], ...] = ()
    asked: tuple[tuple[str, float], ...] = ()


_NO_EVIDENCE = _Evidence()


@dataclass(frozen=True, slots=True)
class Topics:
    """What a lane is about.

    Attributes:
        request: Object words of the request.
        focus: Object words of its steps with their weights.
        steps: Evidence of the steps read so far, by identity; lives as long as the lane is named.
        factors: Preference of the words met so far.
    """

    request: frozenset[str]
    focus: dict[str, float]
    steps: dict[int, _Evidence]
    factors: dict[str, float]


class Namer:
    """Names for intervals of lanes; a pure function of the lane and the tables.

    Args:
        tables: Verbs, aliases, stop words.
    """

    def __init__(self, tables: NameTables) -> None:
        self.tables = tables
        self._clauses = ClauseReader(tables)
        self._tools: dict[str, tuple[tuple[str, float], ...]] = {}
        self._evidence: dict[bytes, _Evidence] = {}

    def root(self, lane: Lane, verb: str = "") -> str:
        """Name of the lane's goal, from the first request.

        Args:
            lane: With its request, or with steps that carry it.
            verb: Used when the request has none.
        """
        usual = verb or "handle"
        found, objects = self._read_request(lane)
        objects = self._without_loose_ends(objects[:2])
        if not found and not objects:
            return DEFAULT_ROOT
        return " ".join([found or usual, *(objects or ["request"])])

    def _read_request(self, lane: Lane) -> tuple[str, list[str]]:
        """Verb and object words of the first real request."""
        for features in (lane.request, *(step.features for step in lane.steps[:_ASKED_WITHIN])):
            if features and len(features) > RECORD_BYTES:
                found, objects = self._clauses.read(decode_words(features)[1])
                if found or objects:
                    return found, objects
        return "", []

    def _without_loose_ends(self, objects: list[str]) -> list[str]:
        """A qualifier stands before the word that it qualifies, or not at all."""
        if objects and objects[-1] in self.tables.qualifiers:
            return objects[-1:] + objects[:-1] if len(objects) > 1 else []
        return objects

    def topics(self, lane: Lane) -> Topics:
        """What the lane is about as a whole: its intervals' names prefer these words."""
        request = frozenset(self._read_request(lane)[1])
        focus: dict[str, float] = {}
        topics = Topics(request, focus, {}, {})
        stride = max(1, len(lane.steps) // _FOCUS_STEPS)
        for step in lane.steps[::stride]:
            _add(focus, self._read_step(step, topics).words)
        return topics

    def name(
        self, steps: Sequence[Step], verb: str, topics: Topics, *, turned: bool = False
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
            evidence, share = self._read_step(step, topics), 1.0 if position else 2.0
            if turned and not position:
                spoken = evidence.planned_verb or evidence.asked_verb
                _add(weights, evidence.asked, share)
            spoken = spoken or evidence.planned_verb or evidence.said_verb
            _add(weights, evidence.words, share)
        for head in self.tables.heads.keys() & topics.request:
            for word in self.tables.heads[head] & weights.keys():
                weights[head] = weights.get(head, 0.0) + weights.pop(word)
        factors, verb = topics.factors, spoken or verb
        if len(weights) > 1 and verb not in _ABOUT_ERRORS:
            weights.pop("error", None)
        for word in self.tables.go_with.get(verb, _NONE) & weights.keys():
            weights[word] *= _GOES_WITH_BONUS
        ranked = sorted(
            [
                (-weight * (factors.get(word) or self._factor(word, topics)), word)
                for word, weight in weights.items()
                if word != verb and word not in self.tables.qualifiers
            ]
        )
        objects = [word for _, word in ranked]
        return verb, objects or sorted(topics.request)[:1] or [_SAYS_NOTHING]

    def _factor(self, word: str, topics: Topics) -> float:
        """How much a word is preferred in this lane, whatever the interval."""
        factor = 0.5 + topics.focus.get(word, 0.0)
        if word in self.tables.general:
            factor *= _GENERAL_BONUS
        if word in self.tables.common:
            factor *= _COMMON_BONUS
        if word in topics.request:
            factor *= _TOPIC_BONUS
        topics.factors[word] = factor
        return factor

    def candidates(self, verb: str, objects: Sequence[str], *, many: bool = False) -> list[str]:
        """Names to try in order, the plainest first; later ones tell neighbours apart.

        One object word: measured on the public coding runs, a second one is right more often but
        hardly any two runs then share a name.

        Args:
            verb: Of the table.
            objects: Best first.
            many: Go on through all objects, then say that the work is repeated.
        """
        names = [f"{verb} {word}" for word in (objects if many else objects[:3])]
        if many:
            names.append(f"repeat {verb} {objects[0]}")
        return names

    def _read_step(self, step: Step, topics: Topics) -> _Evidence:
        """Evidence of a step and its calls; each step of a lane is read once."""
        found = topics.steps.get(id(step))
        if found is None:
            found = topics.steps[id(step)] = self._join_step(step)
        return found

    def _join_step(self, step: Step) -> _Evidence:
        model = _NO_EVIDENCE
        if step.features and len(step.features) > RECORD_BYTES:
            model = self._read_evidence(step.features)
        planned = model.planned_verb
        words = model.words
        if not step.calls and step.agent:
            words += self._tool_words(step.agent)
        for call in step.calls[:2]:
            words += self._tool_words(call.tool)
            if call.features and len(call.features) > RECORD_BYTES:
                evidence = self._read_evidence(call.features)
                planned = evidence.planned_verb or planned
                words += evidence.words
        return _Evidence(model.said_verb, model.asked_verb, planned, words, model.asked)

    def _read_evidence(self, features: bytes) -> _Evidence:
        """Evidence of the kept words; remembered, because steps repeat."""
        tail = features[RECORD_BYTES:]
        evidence = self._evidence.get(tail)
        if evidence is None:
            if len(self._evidence) >= _MEMO_LIMIT:
                self._evidence.clear()
            evidence = self._evidence[tail] = self._find_evidence(features)
        return evidence

    def _find_evidence(self, features: bytes) -> _Evidence:
        said, wanted, did, touched, planned, _ = decode_words(features)
        weights: dict[str, float] = {}
        said_verb, objects = self._clauses.read(said)
        if any(word in self.tables.verbs for word in said):
            # An English verb: the model has seen it, and more than it.
            said_verb = self._clauses.telling_verb(said)
        _add(weights, _placed(objects[:4], 1.0))
        _add(weights, _placed(self._clauses.objects(touched)[:3], _TOUCHED))
        _add(weights, _placed(self._clauses.objects(did[1:]), _DID))
        planned_verb, objects = self._clauses.read(planned)
        _add(weights, _placed(objects[:3], _PLANNED))
        asked_verb, objects = self._clauses.read(wanted)
        return _Evidence(
            said_verb,
            "" if asked_verb in WEAK_VERBS else asked_verb,
            planned_verb,
            tuple(weights.items()),
            _placed(objects[:4], _ASKED),
        )

    def _tool_words(self, tool: str) -> tuple[tuple[str, float], ...]:
        """Object words in the name of a tool or agent."""
        words = self._tools.get(tool)
        if words is None:
            if len(self._tools) >= _MEMO_LIMIT:
                self._tools.clear()
            pieces = plain_words(_SPLIT.findall(tool[-60:]), 4)
            words = self._tools[tool] = _placed(self._clauses.objects(pieces), _NAMED)
        return words


def _placed(words: Sequence[str], share: float) -> tuple[tuple[str, float], ...]:
    """Weights that fall with the place in the clause."""
    return tuple((word, share * (1.5 - 0.25 * place)) for place, word in enumerate(words))


def _add(weights: dict[str, float], words: Iterable[tuple[str, float]], share: float = 1.0) -> None:
    for word, weight in words:
        if word in weights:
            weights[word] += share * weight
        else:
            weights[word] = share * weight
