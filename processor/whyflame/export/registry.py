"""Finding exporters: entry points of the group `whyflame.exporters`, ours and anybody's alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from whyflame.config.place import nearest
from whyflame.errors import ConfigError
from whyflame.export.protocol import Exporter
from whyflame.export.settings import ExportSettings, split_options

__all__ = ["GROUP", "BoundExporter", "Factory", "build_exporter", "find_factory", "known_exporters"]

GROUP = "whyflame.exporters"

Factory = Callable[[str, Mapping[str, Any]], Exporter]
"""(name in the configuration, its own options) -> exporter."""


@dataclass(frozen=True, slots=True)
class BoundExporter:
    """An exporter under its configured name, with the settings all exporters share."""

    name: str
    exporter: Exporter
    settings: ExportSettings


def known_exporters() -> list[str]:
    """Names of all installed exporters."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def find_factory(kind: str) -> Factory:
    """The factory an entry point names.

    Raises:
        ConfigError: No such exporter is installed, or it cannot be loaded.
    """
    found = entry_points(group=GROUP, name=kind)
    if not found:
        known = known_exporters()
        raise ConfigError(
            f"unknown exporter type {kind!r}; {nearest(kind, known) if known else 'none installed'}"
        )
    return _load(kind, next(iter(found)))


def _load(kind: str, point: EntryPoint) -> Factory:
    try:
        factory: Factory = point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"exporter {kind!r} cannot be loaded from {point.value}: {error}"
        ) from error
    return factory


def build_exporter(
    name: str,
    kind: str,
    options: Mapping[str, Any],
    promoted: tuple[str, ...] = (),
    find: Callable[[str], Factory] = find_factory,
) -> BoundExporter:
    """One configured exporter, its options checked, nothing started.

    Raises:
        ConfigError: The type is unknown or an option is wrong.
    """
    settings, own = split_options(name, options, promoted)
    exporter = find(kind)(name, own)
    if not isinstance(exporter, Exporter):
        raise ConfigError(f"exporters.{name}: {kind} is no exporter: start, send or close missing")
    return BoundExporter(name, exporter, settings)
