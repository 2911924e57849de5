"""What a question needs of the configuration.

Apart from the rest: a cold command without a file finds nothing but defaults there, and the classes
of all blocks take 9 ms to come into being.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whyflame.config.fields import setting

__all__ = ["AskingConfig", "ViewConfig"]


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """A named question."""

    stack: list[str] = setting(["agent", "path", "leaf"], "fields, outermost first")
    measure: str = setting("tokens", "what width means")
    where: list[str] = setting([], "filters, field=value, field!=value or field=~regex")
    waits: bool = setting(
        default=False, doc="show waiting for the user between turns as a frame too"
    )


@dataclass(frozen=True, slots=True)
class AskingConfig:
    """The part of `Config` that questions look at, as it is without a file."""

    fields: dict[str, str] = field(default_factory=dict)
    views: dict[str, ViewConfig] = field(default_factory=dict)
    trace_links: dict[str, str] = field(default_factory=dict)
