"""Where a value stands in the configuration, so that every error can point at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import yaml

__all__ = ["Place", "line_numbers", "nearest"]


@dataclass(frozen=True, slots=True)
class Place:
    """A key of one source.

    Attributes:
        source: The file's name, or where else the mapping came from.
        path: Keys from the top.
        lines: Line of every path, where the source has lines.
    """

    source: str
    path: tuple[str, ...] = ()
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def child(self, key: str) -> Place:
        """The place of a key below this one."""
        return Place(self.source, (*self.path, key), self.lines)

    def error(self, problem: str) -> ConfigError:
        """An error that names source, line and key."""
        line = self.lines.get(self.path)
        where = self.source if line is None else f"{self.source}:{line}"
        key = ".".join(self.path)
        return ConfigError(f"{where}: {key}: {problem}" if key else f"{where}: {problem}")


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that was probably meant, else the list of known ones."""
    from difflib import get_close_matches  # only a mistake needs it

    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(words)}"


def line_numbers(node: yaml.Node | None, place: Place) -> dict[tuple[str, ...], int]:
    """The line of every key below a YAML node; refuses a key that stands twice in one block."""
    import yaml

    lines: dict[tuple[str, ...], int] = {}
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            at = place.child(str(key_node.value))
            line = key_node.start_mark.line + 1
            if at.path in lines:
                known = Place(at.source, at.path, {at.path: line})
                raise known.error(f"stands twice, first in line {lines[at.path]}")
            lines[at.path] = line
            lines.update(line_numbers(value_node, at))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            at = place.child(str(index))
            lines[at.path] = item.start_mark.line + 1
            lines.update(line_numbers(item, at))
    return lines
