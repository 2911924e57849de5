"""Messages spread over numbered attribute keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whyflame.dialects.dialect import IndexedMessages

__all__ = ["IndexedKeys", "plan_messages"]


@dataclass(frozen=True, slots=True)
class IndexedKeys:
    """Numbered keys of one span in order.

    Attributes:
        prompt: (role key, keys of its text) a message, in order.
        response: Keys of the response's text. calls: Keys of the ids of tool calls asked for.
    """

    prompt: tuple[tuple[str, tuple[str, ...]], ...]
    response: tuple[str, ...]
    calls: tuple[str, ...]


def _group(keys: Iterable[str], prefix: str) -> list[tuple[str, list[str]]]:
    """(prefix + number, suffixes found) by rising number."""
    groups: dict[int, list[str]] = {}
    for key in keys:
        if key.startswith(prefix):
            number, _, suffix = key[len(prefix) :].partition(".")
            if number.isdecimal():
                groups.setdefault(int(number), []).append("." + suffix)
    return [(f"{prefix}{number}", groups[number]) for number in sorted(groups)]


def _numbered(suffixes: list[str], infix: str, suffix: str) -> list[str]:
    """Suffixes of the form infix + number + suffix by rising number."""
    found = []
    for candidate in suffixes:
        if candidate.startswith(infix) and candidate.endswith(suffix):
            number = candidate[len(infix) : -len(suffix)]
            if number.isdecimal():
                found.append((int(number), candidate))
    return [candidate for _, candidate in sorted(found)]


def _texts(spec: IndexedMessages, head: str, suffixes: list[str]) -> tuple[str, ...]:
    """Keys of the text of one message: plain content, then numbered parts."""
    texts = [spec.content] if spec.content in suffixes else []
    if spec.parts:
        texts += _numbered(suffixes, *spec.parts)
    return tuple(head + text for text in texts)


def plan_messages(spec: IndexedMessages, keys: Iterable[str]) -> IndexedKeys | None:
    """The numbered keys among `keys`; None when there are none."""
    prompt = [
        (head + spec.role, _texts(spec, head, suffixes))
        for head, suffixes in _group(keys, spec.prompt)
        if spec.role in suffixes
    ]
    response: list[str] = []
    calls: list[str] = []
    for head, suffixes in _group(keys, spec.response):
        response += _texts(spec, head, suffixes)
        if spec.calls:
            calls += [head + call for call in _numbered(suffixes, *spec.calls)]
    if not (prompt or response or calls):
        return None
    return IndexedKeys(tuple(prompt), tuple(response), tuple(calls))
