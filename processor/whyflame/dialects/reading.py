"""One span or log record while a dialect looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.dialects.values import read_any, read_bool, read_json, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Reading"]


class Reading:
    """Attributes and events of one span or log record, decoded on demand.

    Attributes:
        name: Span name, or the event name of a log record.
        scope: Instrumentation scope name; `scope_version` its version.
        kind: OTLP span kind number (3 = CLIENT); 0 for log records.
        attributes: Raw values by key.
        events: The span's events as decoded; empty for log records.
        body: Raw body of a log record.
    """

    __slots__ = (
        "attributes",
        "body",
        "events",
        "kind",
        "name",
        "resource",
        "scope",
        "scope_version",
    )

    def __init__(
        self,
        name: str,
        scope: tuple[str, str],
        attributes: Mapping[str, bytes],
        resource: Mapping[str, bytes],
    ) -> None:
        self.name = name
        self.scope, self.scope_version = scope
        self.attributes = attributes
        self.resource = resource
        self.kind = 0
        self.events: Any = ()
        self.body = b""

    def has(self, key: str) -> bool:
        """True when the attribute arrived, whatever its value."""
        return key in self.attributes

    def text(self, *keys: str) -> str | None:
        """First non-empty text among the keys; numbers as text."""
        for key in keys:
            raw = self.attributes.get(key)
            if raw is not None:
                text = read_text(raw)
                if text is not None:
                    return text
        return None

    def value(self, key: str) -> Any:
        """The attribute as a Python value; None when absent."""
        raw = self.attributes.get(key)
        return None if raw is None else read_any(raw)

    def json(self, key: str) -> Any:
        """The attribute, with JSON text parsed; None when absent or not JSON."""
        raw = self.attributes.get(key)
        return None if raw is None else read_json(raw)

    def flag(self, key: str) -> bool | None:
        """The attribute as a boolean, also from "true" and "false"."""
        raw = self.attributes.get(key)
        return None if raw is None else read_bool(raw)

    def event(self, name: str) -> Any | None:
        """The first span event of this name."""
        for event in self.events:
            if event.name == name:
                return event
        return None
