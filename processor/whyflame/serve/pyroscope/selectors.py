"""Label selectors as Grafana writes them: `{a="b", c!="d", e=~"re", f!~"re"}`.

Lenient where clients are: a bare profile type id or name may stand in front, names may be quoted, a
trailing comma is allowed, and a `__name__` with four colons is a profile type id. Regular
expressions are RE2 and match the whole value; they are left to the store, whose matcher takes linear
time, while Python's can take for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from whyflame.errors import UsageError
from whyflame.fold.where import Compares

__all__ = ["PROFILE_TYPE", "Matcher", "parse_selector"]

PROFILE_TYPE = "__profile_type__"
_NAME = "__name__"
_TYPE_COLONS = (4, 5)  # five with the part `:delta`, which says nothing
_DELTA = ":delta"

_PREFIX = re.compile(r"\s*([A-Za-z_][\w:.\-]*)?\s*")
_MATCHER = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_][\w.]*)|"(?P<quoted>(?:[^"\\]|\\.)+)")
    \s*(?P<operator>=~|!~|!=|=)\s*
    (?:"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'|`(?P<raw>[^`]*)`)\s*""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{3}|.)", re.DOTALL)
_END_OF_UNICODE, _SURROGATES = 0x110000, range(0xD800, 0xE000)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Matcher(Compares):
    """One condition on a label; a label that is not there has the value ""."""

    name: str
    operator: str
    value: str


def parse_selector(text: str) -> list[Matcher]:
    """The conditions of one selector; none for `{}` and for an empty text.

    Raises:
        UsageError: It cannot be read; the message shows where.
    """
    prefix = _PREFIX.match(text)
    position = prefix.end() if prefix else 0
    matchers = [] if prefix is None or not prefix[1] else [_matcher(_NAME, "=", prefix[1])]
    if position == len(text):
        return matchers
    if text[position] != "{":
        raise _unreadable(text, position)
    position = _after_blanks(text, position + 1)
    while not text.startswith("}", position):
        found = _MATCHER.match(text, position)
        if found is None:
            raise _unreadable(text, position)
        matchers.append(_matcher(_name_of(found), found["operator"], _value_of(found)))
        position = found.end()
        if text.startswith(",", position):
            position = _after_blanks(text, position + 1)
        elif not text.startswith("}", position):
            raise _unreadable(text, position)
    if text[position + 1 :].strip():
        raise _unreadable(text, position + 1)
    return matchers


def _after_blanks(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _name_of(found: re.Match[str]) -> str:
    return str(found["name"] or _unescaped(found["quoted"]))


def _value_of(found: re.Match[str]) -> str:
    if found["raw"] is not None:
        return str(found["raw"])
    return _unescaped(found["single"] if found["double"] is None else found["double"])


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "uUx" and len(code) > 1:
            number = int(code[1:], 16)
            is_text = number < _END_OF_UNICODE and number not in _SURROGATES
            return chr(number) if is_text else "\ufffd"
        if code.isdigit() and len(code) > 1:
            return chr(int(code, 8))
        return _SIMPLE.get(code, code)

    return _ESCAPE.sub(one, text)


def _matcher(name: str, operator: str, value: str) -> Matcher:
    if name == _NAME and value.count(":") in _TYPE_COLONS:
        name = PROFILE_TYPE
    if name == PROFILE_TYPE:
        value = value.removesuffix(_DELTA)
    return Matcher(name, operator, value)


def _unreadable(text: str, position: int) -> UsageError:
    rest = text[position : position + 20]
    return UsageError(
        f'selector {text[:200]!r} cannot be read at {rest!r}: write {{name="value", other=~"re"}}'
    )
