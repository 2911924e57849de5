"""Values that a text assigns to a password or token, taken out before words of it are kept.

A password may be a plain word, and then nothing but the word before it tells. Words are kept from texts
in every mode but `none`, so this one part of the redactor runs over all of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whyflame.content.redact import redact_assigned

if TYPE_CHECKING:
    from whyflame.model import Content

__all__ = ["mask_assigned"]

# Searched one by one in small letters: a pattern that may begin with each of them costs 40 us for the texts
# of a span, this 2.
_BEHIND = re.compile(r"\w{0,8}[\\\"'`\]]*\s{0,3}(?:[:=\uff1a\uff1d]|(?:ist?|lautet|est?)\s)")
_BEHIND_PASSWORD = re.compile(_BEHIND.pattern + r"|\w{0,8} (?:\\*[\"'`]|\S{0,40}\d)")
_PASSWORDS = ("pass", "kennw")  # the value may follow at once
_SIGNS = (*_PASSWORDS, "token", "secret", "key", "pwd", "credent", "pin:", "pin ")
_OTHER_SIGNS = (*_SIGNS, "contrase", "mot de pas", "senha", "wachtw", "has\u0142o",
                "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6", "\u30d1\u30b9", "\ube44\ubc00")  # fmt: skip
_REMEMBERED = 1024  # texts repeat: a prompt in every call of its turn

_mask = lru_cache(_REMEMBERED)(redact_assigned)


def mask_assigned(content: Content) -> None:
    """Put `MASK` in the place of such values, in all texts that words are kept of."""
    plan = [text for text, _ in content.plan]
    texts = filter(None, (content.prompt, content.response, content.arguments, *plan))
    if not _may_assign("\n".join(texts)):
        return
    content.prompt = _mask(content.prompt) if content.prompt else content.prompt
    content.response = _mask(content.response) if content.response else content.response
    content.arguments = _mask(content.arguments) if content.arguments else content.arguments
    content.plan = tuple((_mask(text), status) for text, status in content.plan)


def _may_assign(text: str) -> bool:
    signs = _SIGNS if text.isascii() else _OTHER_SIGNS
    lower = text.lower()
    for sign in signs:  # noqa: SIM110 - a generator costs half as much again
        if sign in lower and _is_assigned(lower, sign):
            return True
    return False


def _is_assigned(lower: str, sign: str) -> bool:
    """Whether a value may stand behind the word, at any of its places."""
    behind = _BEHIND_PASSWORD if sign in _PASSWORDS else _BEHIND
    at = lower.find(sign)
    while at >= 0:
        begin = at + len(sign)
        if behind.match(lower, begin) or lower.startswith("--", max(0, at - 2)):
            return True
        at = lower.find(sign, begin)
    return False
