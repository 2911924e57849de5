"""How one setting is declared: its default, its documentation, and what values are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GIB", "KIB", "MIB", "Rule", "rule_of", "section", "setting"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Rule:
    """What the documentation says about a setting, and what the loader checks.

    Attributes:
        doc: One phrase for the reference.
        kind: "duration", "bytes", "address", "file", "secret_file" or "" for none of these.
        choices: The allowed words, empty for any.
        minimum: The smallest allowed number.
        maximum: The largest allowed number.
    """

    doc: str
    kind: str = ""
    choices: tuple[str, ...] = ()
    minimum: float = 0
    maximum: float | None = None


def setting(default: Any, doc: str, kind: str = "", **limits: Any) -> Any:
    """Declare a dataclass field with its `Rule`; `limits` are the rule's further attributes."""
    metadata = {"rule": Rule(doc, kind, **limits)}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def section(cls: type[Any], doc: str) -> Any:
    """Declare a dataclass field that holds another block of settings."""
    return field(default_factory=cls, metadata={"rule": Rule(doc)})


def rule_of(metadata: Mapping[str, Any]) -> Rule:
    """The rule that `setting` or `section` put on a dataclass field."""
    rule: Rule = metadata["rule"]
    return rule
