"""Evaluations: what a judge, a test or a person said about a run, in the words of outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.values import read_text

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading

__all__ = ["EVALUATION", "read_outcome"]

EVALUATION = "gen_ai.evaluation.result"
"""Name of the span event and of the log event."""

_KEYS = ("gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value")
_GOOD = frozenset(("success", "succeeded", "pass", "passed", "correct", "true", "ok", "good"))
_BAD = frozenset(("failure", "failed", "fail", "incorrect", "wrong", "false", "error", "bad"))
_HALF = 0.5


def read_outcome(reading: Reading, stated: str | None, first: tuple[str, ...] = ()) -> str | None:
    """The outcome that a span or log record states itself, else its newest evaluation event's.

    Args:
        reading: Of the span or record. stated: What the dialect found.
        first: Attributes that come before that, as configured.
    """
    stated = (reading.text(*first) if first else None) or stated
    if stated is not None:
        return _in_our_words(stated)
    for event in reversed(reading.events):
        if event.name == EVALUATION:
            texts = (read_text(event.attributes[key]) for key in _KEYS if key in event.attributes)
            text = next((text for text in texts if text), None)
            if text is not None:
                return _in_our_words(text)
    return None


def _in_our_words(text: str) -> str:
    """`success` or `failure` for the usual labels and for scores; other words as they are."""
    word = text.strip().lower()
    if word in _GOOD or word in _BAD:
        return "success" if word in _GOOD else "failure"
    try:
        return "success" if float(word) >= _HALF else "failure"
    except ValueError:
        return text
