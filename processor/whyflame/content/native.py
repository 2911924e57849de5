"""Features by the native part: the word tables of `content` handed over once, then spans by the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from whyflame import native
from whyflame.content.activity import CODES, activity_of_tool
from whyflame.content.texts import activity_of_call
from whyflame.content.vocabulary import GIVEN_NAMES, PRODUCTS, STOP_WORDS
from whyflame.content.words import (
    BEFORE_PEOPLE,
    CUE_BITS,
    EDGES,
    HONORIFICS,
    INTRODUCES,
    INTRODUCTIONS,
    LEADS,
    MODALS,
    OPENERS,
    PLEA_WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType

    from whyflame.model import Span

__all__ = ["Extract", "native_extract"]

_WORDS_OF_SIGNS: dict[str, Collection[str]] = {
    "STOP": STOP_WORDS,
    "GIVEN": GIVEN_NAMES,
    "TITLE": HONORIFICS,
    "PRODUCT": PRODUCTS,
    "BEFORE_PEOPLE": BEFORE_PEOPLE,
    "PLEA": PLEA_WORDS,
    "MODAL": MODALS,
    "INTRODUCES": INTRODUCES,
    "INTRODUCTION": [" ".join(pair) for pair in INTRODUCTIONS],
    "ADDRESSED": ["you"],
}


class Extract(Protocol):
    """Features of spans."""

    def __call__(
        self, spans: list[Span], modes: list[str], /
    ) -> tuple[list[bytes | None], list[int]]:
        """Features of each span, None where it has none; and positions that Python has to do.

        Raises:
            RuntimeError: A fault of the native part.
        """


def native_extract() -> Extract | None:
    """The native part's way to features; None where it is not in use."""
    return None if native.part is None else _prepared(native.part)


def _prepared(part: ModuleType) -> Extract:
    openers = [(word, 0, skip, 0) for word, skip in OPENERS.items()]
    extractor = part.prepare(
        _words(part.SIGNS.split()),
        openers,
        EDGES,
        CODES["run"],
        activity_of_tool,
        activity_of_call,
    )

    def extract(spans: list[Span], modes: list[str], /) -> tuple[list[bytes | None], list[int]]:
        found: tuple[list[bytes | None], list[int]] = part.extract(extractor, spans, modes)
        return found

    return extract


def _words(signs: list[str]) -> list[tuple[str, int, int, int]]:
    """(word, bits of its signs, lead class, cue bits) of every word of the tables."""
    bits: dict[str, int] = {}
    for position, sign in enumerate(signs):
        for word in _WORDS_OF_SIGNS[sign]:
            bits[word] = bits.get(word, 0) | 1 << position
    cues = {word.decode(): found for word, found in CUE_BITS.items()}
    return [
        (word, bits.get(word, 0), LEADS.get(word, 0), cues.get(word, 0))
        for word in sorted(bits.keys() | LEADS.keys() | cues.keys())
    ]
