"""Features of a span whose texts came apart from each other, each part with features of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.content.features import FIELD, HAS_PROMPT, HAS_RESPONSE, RECORD, RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["has_text", "join_features"]

# Places in the record, and of the fields in the tail.
_FLAGS, _LEAD, _SAID_CUES, _ASKED_CUES, _ASKED_SIZE, _SAID_SIZE = 1, 3, 4, 6, 7, 8
_USER_MESSAGES, _MOST_MESSAGES, _BAG = 11, 255, 18
_SAID, _ASKED, _ASKED_EXCERPT, _SAID_EXCERPT = 0, 1, 5, 6

_Part = tuple[list[Any], list[str]]
"""Record and tail."""


def has_text(features: bytes) -> bool:
    """Whether any text was seen; features may hold nothing, or lengths alone."""
    return features[_FLAGS] != 0


def join_features(own: bytes | None, others: Sequence[bytes]) -> bytes | None:
    """What `extract` would have found, had prompt and response come on one span.

    Args:
        own: Of the span itself. others: Of what came beside it, the newest first: of a text that
            several have, the first one's counts; all but prompt and response is the first part's.
    """
    parts = [*([own] if own else []), *others]
    if len(parts) < 2:  # noqa: PLR2004 - nothing to join
        return parts[0] if parts else None
    found = [_part_of(features) for features in parts]
    record, tail = list(found[0][0]), list(found[0][1])
    tail += [""] * (max(len(fields) for _, fields in found) - len(tail))
    asked, said = _first_with(found, HAS_PROMPT), _first_with(found, HAS_RESPONSE)
    _take(record, tail, asked, (_ASKED_SIZE, _ASKED, _ASKED_EXCERPT), found)
    _take(record, tail, said, (_SAID_SIZE, _SAID, _SAID_EXCERPT), found)
    if asked is not None:
        record[_ASKED_CUES] = asked[0][_ASKED_CUES]
    if (spoken := said or asked) is not None:
        for place in (_LEAD, _SAID_CUES, _BAG):
            record[place] = spoken[0][place]
    record[_FLAGS] |= (HAS_PROMPT if asked else 0) | (HAS_RESPONSE if said else 0)
    if own is None or not record[_USER_MESSAGES]:
        told = sum(other[_USER_MESSAGES] for other, _ in found)
        record[_USER_MESSAGES] = min(told, _MOST_MESSAGES)
    return RECORD.pack(*record) + FIELD.join(tail).encode("utf-8", "replace")


def _take(
    record: list[Any],
    tail: list[str],
    part: _Part | None,
    places: tuple[int, int, int],
    found: Sequence[_Part],
) -> None:
    """One text's size, words and excerpt; lengths alone (mode `none`) have no flags."""
    size, *fields = places
    if part is None:
        record[size] = next((other[size] for other, _ in found if other[size]), 0)
        return
    record[size] = part[0][size]
    for place in fields:
        if place < len(part[1]):
            tail[place] = part[1][place]


def _part_of(features: bytes) -> _Part:
    tail = features[RECORD_BYTES:].decode("utf-8", "replace")
    return list(RECORD.unpack_from(features)), tail.split(FIELD)


def _first_with(found: Sequence[_Part], flag: int) -> _Part | None:
    return next((part for part in found if part[0][_FLAGS] & flag), None)
