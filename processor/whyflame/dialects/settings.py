"""What the dialects need to know from the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DialectSettings", "dialect_settings"]


@dataclass(frozen=True, slots=True)
class DialectSettings:
    """Settings of the reader.

    Attributes:
        resource_fields: Promoted field -> resource attribute.
        span_fields: Promoted field -> span attribute.
        outcome_keys: Span attributes that state an outcome, before those a dialect knows.
        max_attributes: Of one span; of a longer one only so many that hold no messages are read.
        read_content: False leaves texts alone (hashes, lengths and plan items as well).
    """

    resource_fields: Mapping[str, str] = field(default_factory=dict)
    span_fields: Mapping[str, str] = field(default_factory=dict)
    outcome_keys: tuple[str, ...] = ()
    read_content: bool = True
    max_attributes: int = 10_000


def dialect_settings(
    fields: Mapping[str, str],
    outcome_keys: Sequence[str] = (),
    *,
    read_content: bool = True,
    max_attributes: int = 10_000,
) -> DialectSettings:
    """Settings from the configuration's `fields` and `settle.outcome_attributes`.

    Raises:
        ConfigError: A value is neither `resource.KEY` nor `span.KEY`.
    """
    resource: dict[str, str] = {}
    span: dict[str, str] = {}
    for name, source in fields.items():
        place, _, key = source.partition(".")
        if not key or place not in ("resource", "span"):
            raise ConfigError(f"fields.{name}: {source!r} is not resource.KEY or span.KEY")
        (resource if place == "resource" else span)[name] = key
    return DialectSettings(resource, span, tuple(outcome_keys), read_content, max_attributes)
