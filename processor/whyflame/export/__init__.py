"""Exporting: profiles of settled operations, kept in an outbox, delivered to backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.export.job import ExportJob
from whyflame.export.protocol import (
    Exporter,
    LateError,
    PausedError,
    Payload,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame.export.registry import BoundExporter, build_exporter, known_exporters
from whyflame.export.settings import ExportSettings

if TYPE_CHECKING:
    from whyflame.config import Config

__all__ = [
    "BoundExporter",
    "ExportJob",
    "ExportSettings",
    "Exporter",
    "LateError",
    "PausedError",
    "Payload",
    "RateLimitedError",
    "TooLargeError",
    "UnavailableError",
    "build_exporter",
    "build_exporters",
    "known_exporters",
]


def build_exporters(config: Config) -> list[BoundExporter]:
    """Every exporter of a configuration, options checked, nothing started.

    Raises:
        ConfigError: A type is unknown or an option is wrong.
    """
    promoted = tuple(config.fields)
    return [
        build_exporter(name, block.type, block.options, promoted)
        for name, block in config.exporters.items()
    ]
