"""`rules`: regular expressions of the team name the work; a report says what they miss."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whyflame.content.features import decode_words
from whyflame.errors import ConfigError
from whyflame.segment.names import Namer, NameTables, load_tables
from whyflame.segment.segmenter import MAX_WORDS, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.lane import Call, Lane, Step

__all__ = ["Coverage", "Rule", "RulesSegmenter", "parse_rule"]

KINDS = ("session", "prompt", "llm", "tool", "all")
UNMATCHED = "handle work"
_FORM = re.compile(r"(?P<kind>[a-z]+):(?P<tag>[^=]+)=(?P<regex>.+)", re.DOTALL)
_SAMPLES = 30
_CATCH_ALL = frozenset([".", ".*", ".+", "^", "$", "", "^.*$"])
_UNMATCHED_LIMIT, _TOP1_LIMIT, _TOP3_LIMIT, _ENTROPY_LIMIT = 0.05, 0.4, 0.8, 0.5
_FEW, _MANY = 5, 25


@dataclass(frozen=True)
class Rule:
    """Texts of `kind` that match are work called `tag`."""

    kind: str
    tag: str
    regex: re.Pattern[str]


def parse_rule(text: str, tables: NameTables) -> Rule:
    """A rule from `KIND:TAG=REGEX`.

    Raises:
        ConfigError: Another form, an unknown kind, a tag that cannot be a name, a bad regex.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ConfigError(f"rule {text!r}: expected KIND:TAG=REGEX")
    kind, tag = form["kind"], form["tag"].strip()
    if kind not in KINDS:
        raise ConfigError(f"rule {text!r}: unknown kind {kind!r}; known: {', '.join(KINDS)}")
    words = tag.split(" ")
    if len(words) > MAX_WORDS or not tables.is_verb(words[0]):
        raise ConfigError(
            f"rule {text!r}: the tag must be one to {MAX_WORDS} words and begin with a verb of the "
            "table; add verbs with segment.names_file"
        )
    try:
        return Rule(kind, tag, re.compile(form["regex"], re.IGNORECASE))
    except re.error as error:
        raise ConfigError(f"rule {text!r}: {error}") from error


@dataclass
class Coverage:
    """What the rules matched, and what they missed.

    Attributes:
        matched, unmatched: Texts per kind.
        tags: Texts per tag.
        samples: Up to 30 unmatched texts, their kind before them, as the rules saw them (kept
            words, redacted excerpts).
    """

    matched: Counter[str] = field(default_factory=Counter)
    unmatched: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)

    def add(self, kind: str, text: str, tag: str | None) -> None:
        """Count one text."""
        if tag is not None:
            self.matched[kind] += 1
            self.tags[tag] += 1
            return
        self.unmatched[kind] += 1
        sample = f"{kind}: {text}"
        if len(self.samples) < _SAMPLES and sample not in self.samples:
            self.samples.append(sample)

    @property
    def is_used(self) -> bool:
        """Whether rules were tried on anything."""
        return bool(self.matched or self.unmatched)

    def report(self) -> dict[str, Any]:
        """Rates, shares, entropy and warnings, ready for JSON."""
        hit, missed = sum(self.matched.values()), sum(self.unmatched.values())
        rate = missed / (hit + missed) if hit + missed else 0.0
        counts = [count for _, count in self.tags.most_common()]
        shares = {f"top{n}": sum(counts[:n]) / hit if hit else 0.0 for n in (1, 3, 5)}
        entropy = _entropy(counts)
        return {
            "matched": dict(sorted(self.matched.items())),
            "unmatched": dict(sorted(self.unmatched.items())),
            "unmatched_rate": rate,
            "tags": dict(self.tags.most_common()),
            **shares,
            "entropy": entropy,
            "samples": self.samples,
            "warnings": _warnings(rate, shares, entropy, len(counts)),
        }


def _entropy(counts: list[int]) -> float:
    """Of the tags, 0 (one tag has all) to 1 (all alike)."""
    total = sum(counts)
    if len(counts) < 2:  # noqa: PLR2004 - one tag has no spread
        return 0.0
    return -sum(n / total * math.log(n / total) for n in counts) / math.log(len(counts))


def _warnings(rate: float, shares: dict[str, float], entropy: float, tags: int) -> list[str]:
    found = []
    if rate > _UNMATCHED_LIMIT:
        found.append(f"{rate:.1%} of the texts are unmatched; aim for under 5 %")
    if not tags:
        return found
    if shares["top1"] > _TOP1_LIMIT:
        found.append(f"one tag has {shares['top1']:.0%} of the matches; split it")
    elif shares["top3"] > _TOP3_LIMIT:
        found.append(f"three tags have {shares['top3']:.0%} of the matches")
    if not _FEW <= tags <= _MANY:
        found.append(f"{tags} tags are in use; 5 to 25 read well")
    if entropy < _ENTROPY_LIMIT:
        found.append(f"tags are uneven (entropy {entropy:.2f})")
    return found


class RulesSegmenter:
    """Tags of the first matching rule; steps that match nothing stay with the work before them.

    Args:
        config: Option `rules`: list of `KIND:TAG=REGEX`, tried in order.
    """

    name = "rules"

    def __init__(self, config: SegmentConfig) -> None:
        self.namer = Namer(load_tables(config.names_file))
        texts = config.options.get("rules", [])
        if not isinstance(texts, list):
            raise ConfigError("segment.options.rules: expected a list of KIND:TAG=REGEX")
        self.rules = [parse_rule(str(text), self.namer.tables) for text in texts]
        self.warnings = [
            f"rule {rule.tag!r} matches everything"
            for rule in self.rules
            if rule.regex.pattern in _CATCH_ALL
        ]

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """Marks of one lane."""
        if not lane.steps:
            return []
        root = self._tag("session", " ".join(_request_words(lane))) or self.namer.root(lane)
        marks: list[Mark] = []
        current = ""
        for position, step in enumerate(lane.steps):
            tag = self._tag_of_step(step) or current or UNMATCHED
            if tag != current:
                current = tag
                marks.append(Mark(position, (root, tag) if tag != root else (root,)))
        return marks

    def cover(self, lanes: Iterable[Lane], coverage: Coverage | None = None) -> Coverage:
        """How far the rules reach over these lanes, added to what was covered before."""
        coverage = coverage or Coverage()
        for lane in lanes:
            words = " ".join(_request_words(lane))
            coverage.add("session", words, self._tag("session", words))
            for step in lane.steps:
                for kind, text in _texts(step):
                    coverage.add(kind, text, self._tag(kind, text))
        return coverage

    def _tag_of_step(self, step: Step) -> str | None:
        for kind, text in _texts(step):
            if tag := self._tag(kind, text):
                return tag
        return None

    def _tag(self, kind: str, text: str) -> str | None:
        for rule in self.rules:
            if rule.kind in (kind, "all") and rule.regex.search(text):
                return rule.tag
        return None


def _request_words(lane: Lane) -> tuple[str, ...]:
    for features in (lane.request, *(step.features for step in lane.steps[:1])):
        if features and (asked := decode_words(features)[1]):
            return asked
    return ()


def _texts(step: Step) -> list[tuple[str, str]]:
    """What rules are matched against: (kind, text), most telling first."""
    texts: list[tuple[str, str]] = []
    if step.features:
        said, asked, *_, excerpts = decode_words(step.features)
        if said or excerpts[1]:
            texts.append(("llm", f"{' '.join(said)} {excerpts[1]}".strip()))
        if asked and not said:
            texts.append(("prompt", f"{' '.join(asked)} {excerpts[0]}".strip()))
    texts += [("tool", _tool_text(call)) for call in step.calls]
    return texts


def _tool_text(call: Call) -> str:
    if not call.features:
        return call.tool
    _, _, did, touched, planned, excerpts = decode_words(call.features)
    return " ".join((call.tool, *did, *touched, *planned, excerpts[2])).strip()
