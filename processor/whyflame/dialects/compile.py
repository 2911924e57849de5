"""From dialect tables to a plan: which keys of one set of attributes are read, and into what.

Spans of one producer come in few shapes (scope, version, set of keys). Which dialect they speak,
and which of a table's many keys are there, is worked out once a shape; a span then only reads the
keys that it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.dialects.indexed import IndexedKeys, plan_messages
from whyflame.dialects.wire import wire_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whyflame.dialects.dialect import Dialect, IndexedMessages, Keys
    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Kind, Span

__all__ = ["Plan", "compile_plan", "matches"]

_IDS = ("call_id", "response_id")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read from spans of one shape.

    Attributes:
        dialect: Name for the field `dialect`.
        kinds: (key, {value: kind}) of keys that are there; "" is the span name.
        fields: (span field, keys that are there), text fields only.
        ids: The same for ids that are new in every span.
        answered: Any sign of a response is there.
        usage: (part, keys that are there).
        content: part -> keys that are there.
        messages: How numbered messages are spelled; `indexed` those of this shape.
    """

    dialect: str
    wire: int
    kinds: tuple[tuple[str, Mapping[str, Kind]], ...]
    fields: tuple[tuple[str, Keys], ...]
    ids: tuple[tuple[str, Keys], ...]
    answered: bool
    resends: Keys
    usage: tuple[tuple[str, Keys], ...]
    cache_outside: bool
    reasoning_outside: bool
    content: Mapping[str, Keys]
    messages: IndexedMessages | None
    indexed: IndexedKeys | None
    read_usage: tuple[Callable[[Reading, Usage], None], ...]
    finish: tuple[Callable[[Reading, Span], None], ...]


def _listed(pattern: str, value: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def matches(dialect: Dialect, scope: str, keys: frozenset[str]) -> bool:
    """True when the scope or a mark identifies the dialect."""
    if any(_listed(pattern, scope) for pattern in dialect.scopes):
        return True
    for mark in dialect.marks:
        if mark in keys:
            return True
        if mark.endswith("*") and any(key.startswith(mark[:-1]) for key in keys):
            return True
    return False


def _merge(chain: tuple[Dialect, ...], attribute: str) -> dict[str, Keys]:
    """Tables of a chain as one: own keys first, those of extended dialects after them."""
    merged: dict[str, Keys] = {}
    for dialect in chain:
        for name, keys in getattr(dialect, attribute).items():
            known = merged.get(name, ())
            merged[name] = known + tuple(key for key in keys if key not in known)
    return merged


def _present(table: Mapping[str, Keys], keys: frozenset[str]) -> dict[str, Keys]:
    there = {name: tuple(key for key in wanted if key in keys) for name, wanted in table.items()}
    return {name: found for name, found in there.items() if found}


def compile_plan(dialect: Dialect, scope: str, keys: frozenset[str]) -> Plan:
    """The plan for spans of this scope that carry exactly these keys."""
    chain = dialect.chain()
    fields = _present(_merge(chain, "fields"), keys)
    messages = next((link.messages for link in chain if link.messages), None)
    wires = [link.wire for link in chain if link.wire is not None]
    return Plan(
        dialect=dialect.name,
        wire=wires[0] if wires else wire_of(scope),
        kinds=tuple(
            (key, table) for link in chain for key, table in link.kinds if not key or key in keys
        ),
        answered=bool(fields.pop("answered", ())),
        resends=fields.pop("resends", ()),
        ids=tuple((name, fields.pop(name)) for name in _IDS if name in fields),
        fields=tuple(fields.items()),
        usage=tuple(_present(_merge(chain, "usage"), keys).items()),
        cache_outside=any(link.cache_outside for link in chain),
        reasoning_outside=any(link.reasoning_outside for link in chain),
        content=_present(_merge(chain, "content"), keys),
        messages=messages,
        indexed=plan_messages(messages, keys) if messages else None,
        read_usage=tuple(link.read_usage for link in chain if link.read_usage),
        finish=tuple(link.finish for link in reversed(chain) if link.finish),
    )
