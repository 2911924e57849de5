"""Finding exporters and forwarders: entry points of two groups, ours and anybody's alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from whyflame.config import SettleConfig
from whyflame.config.place import nearest
from whyflame.errors import ConfigError
from whyflame.export.protocol import Exporter, Forwarder
from whyflame.export.settings import (
    ExportSettings,
    ForwardSettings,
    split_forward_options,
    split_options,
)

__all__ = [
    "FORWARDERS",
    "GROUP",
    "BoundExporter",
    "BoundForwarder",
    "Factory",
    "build_exporter",
    "build_forwarder",
    "find_factory",
    "is_forwarder",
    "known_exporters",
]

GROUP = "whyflame.exporters"
FORWARDERS = "whyflame.forwarders"

Factory = Callable[[str, Mapping[str, Any]], Any]
"""(name in the configuration, its own options) -> exporter or forwarder."""

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class BoundExporter:
    """An exporter under its configured name, with the settings all exporters share.

    Attributes:
        settle: When a run is over; until then its operations wait for a settled path.
    """

    name: str
    exporter: Exporter
    settings: ExportSettings
    settle: SettleConfig = field(default_factory=SettleConfig)


@dataclass(frozen=True, slots=True)
class BoundForwarder:
    """A forwarder under its configured name, with the settings all forwarders share."""

    name: str
    forwarder: Forwarder
    settings: ForwardSettings


def known_exporters() -> list[str]:
    """Names of all installed exporters and forwarders."""
    points = [*entry_points(group=GROUP), *entry_points(group=FORWARDERS)]
    return sorted({point.name for point in points})


def is_forwarder(kind: str) -> bool:
    """Whether a type of the configuration passes on requests instead of profiles."""
    return bool(entry_points(group=FORWARDERS, name=kind))


def find_factory(kind: str) -> Factory:
    """The factory an entry point names.

    Raises:
        ConfigError: No such exporter is installed, or it cannot be loaded.
    """
    found = entry_points(group=GROUP, name=kind) or entry_points(group=FORWARDERS, name=kind)
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
    factory = find(kind)
    preferred = getattr(factory, "preferred_settings", {})
    settings, own = split_options(name, {**preferred, **options}, promoted)
    exporter = factory(name, own)
    if not isinstance(exporter, Exporter):
        raise ConfigError(f"exporters.{name}: {kind} is no exporter: start, send or close missing")
    return BoundExporter(name, exporter, settings)


def build_forwarder(
    name: str,
    kind: str,
    options: Mapping[str, Any],
    find: Callable[[str], Factory] = find_factory,
) -> BoundForwarder:
    """One configured forwarder, its options checked, nothing started.

    Raises:
        ConfigError: The type is unknown, an option is wrong, or the name cannot name a folder.
    """
    if not _FOLDER_NAME.fullmatch(name):
        raise ConfigError(f"exporters.{name}: a forwarder's name needs letters, digits, _ . - only")
    settings, own = split_forward_options(name, options)
    forwarder = find(kind)(name, own)
    if not isinstance(forwarder, Forwarder):
        raise ConfigError(f"exporters.{name}: {kind} is no forwarder: forward is missing")
    return BoundForwarder(name, forwarder, settings)
