"""What a dialect is: tables that say which attribute means what, and functions for the rest.

A dialect describes one producer family. `docs/dialects.md` shows how to add one; `registry.py`
lists those that ship.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whyflame.dialects.reading import Reading
    from whyflame.dialects.usage import Usage
    from whyflame.model import Kind, Span

__all__ = ["Dialect", "IndexedMessages", "Keys"]

Keys = tuple[str, ...]
"""Attribute keys in order of preference: the first one with a usable value wins."""


@dataclass(frozen=True, slots=True)
class IndexedMessages:
    """Messages spread over numbered keys, such as `llm.input_messages.3.message.role`.

    Attributes:
        prompt: Prefix before the number on the way in, for example "llm.input_messages.".
        response: The same on the way out.
        role: Suffix that holds the role. content: Suffix of the text.
        parts: Infix and suffix of numbered text parts, ("contents.", ".message_content.text").
        calls: Infix and suffix of the ids of tool calls that a response asks for.
    """

    prompt: str
    response: str
    role: str
    content: str
    parts: tuple[str, str] | None = None
    calls: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One producer family.

    A span belongs to the first dialect of the registry with a matching scope or mark. Tables of
    `extends` follow the dialect's own ones: keys are appended, so that a producer which speaks a
    convention with a few own names only lists those.

    Attributes:
        name: Short name, a value of the field `dialect`.
        scopes: Instrumentation scope names; "prefix*" matches every name that begins so.
        marks: Attribute keys whose presence identifies the vocabulary; "prefix*" likewise.
        extends: Dialect whose tables come after the own ones.
        kinds: (key, {value: kind}) in order; the first key whose value is in its map decides.
            A key "" looks at the span name.
        fields: Span field -> keys. Text fields, and `answered` (any key present), `resends`.
        usage: Token part ("input", "output", "cache_read", "cache_write", "reasoning", "total")
            or "cost" -> keys. The input and output are totals, unless the flags below say else.
        cache_outside: The input does not contain what was read from or written to the cache.
        reasoning_outside: The output does not contain reasoning.
        content: "prompt", "response", "arguments", "result" -> keys of text or JSON messages.
        messages: Messages under numbered keys.
        wire: How near to the wire its model calls are seen (`Span.wire`); None decides by scope.
        events: Log event name -> kind, for events that stand for an operation.
        read_usage: Changes or fills the usage where a table cannot say it.
        finish: Last word on the span where a table cannot say it.
    """

    name: str
    scopes: Keys = ()
    marks: Keys = ()
    extends: Dialect | None = None
    kinds: tuple[tuple[str, Mapping[str, Kind]], ...] = ()
    fields: Mapping[str, Keys] = field(default_factory=dict)
    usage: Mapping[str, Keys] = field(default_factory=dict)
    cache_outside: bool = False
    reasoning_outside: bool = False
    content: Mapping[str, Keys] = field(default_factory=dict)
    messages: IndexedMessages | None = None
    wire: int | None = None
    events: Mapping[str, Kind] = field(default_factory=dict)
    read_usage: Callable[[Reading, Usage], None] | None = None
    finish: Callable[[Reading, Span], None] | None = None

    def chain(self) -> tuple[Dialect, ...]:
        """This dialect and those it extends, nearest first."""
        return (self, *(self.extends.chain() if self.extends else ()))
