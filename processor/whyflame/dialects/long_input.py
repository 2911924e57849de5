"""The newest user message of a model call's input without parsing a whole long conversation."""

from __future__ import annotations

import json
import re

from whyflame import native
from whyflame.dialects.messages import RESULT_TYPES, ROLES, newest_user, parse, walk_messages
from whyflame.dialects.single_message import single_message

__all__ = ["newest_user_in", "newest_user_of"]

_LONG = 24_576
_ROLE = re.compile(r'\{\s*"role"\s*:\s*"(?:user|human)"')
_DECODER = json.JSONDecoder()
_TRIES = 64
_USERS = tuple(role for role, meaning in ROLES.items() if meaning == "user")
_OTHERS = tuple(role for role, meaning in ROLES.items() if meaning != "user")
_RESULTS = tuple(RESULT_TYPES)


def newest_user_in(text: str) -> tuple[str | None, int | None]:
    """(newest real user message, how many); (None, None) when the text holds no messages.

    A quote inside JSON text is escaped, so `{"role":"user"` only matches where a message begins.
    The parsing of a long history would cost more than everything else done for the span; its last
    messages are decoded one by one from the end instead.
    """
    if text[:1] not in "[{":
        return None, None
    single = single_message(text)
    if single is not None and single[0] in ROLES:
        return (single[1], 1) if ROLES[single[0]] == "user" else (None, 0)
    if len(text) > _LONG:
        found = _scan(text)
        if found is not None:
            return found
    return newest_user(walk_messages(parse(text)))


def _scan(text: str) -> tuple[str | None, int | None] | None:
    starts = [hit.start() for hit in _ROLE.finditer(text)]
    results = 0
    newest: str | None = None
    for start in reversed(starts[-_TRIES:]):
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except ValueError:
            return None
        for message in walk_messages(value):
            if message.is_result:
                results += 1
            elif newest is None:
                newest = message.text
        if newest is not None:
            break
    return (newest, len(starts) - results) if newest is not None else None


def newest_user_of(raw: bytes, limit: int) -> tuple[str, bytes, int] | None:
    """(first `limit` characters, UTF-8 of the whole, how many) of the newest user message of a raw value.

    By the native part, without building the messages before it; None without it, and for what it
    leaves to `newest_user_in`.
    """
    if native.part is None:
        return None
    found: tuple[str, bytes, int] | None = native.part.newest_user(
        raw, limit, _USERS, _OTHERS, _RESULTS
    )
    return found
