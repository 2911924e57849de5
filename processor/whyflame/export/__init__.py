"""Exporting: profiles of settled operations, kept in an outbox, delivered to backends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whyflame.export.forwarding import Forwarding
from whyflame.export.job import ExportJob
from whyflame.export.protocol import (
    Exporter,
    Forwarder,
    LateError,
    PausedError,
    Payload,
    RateLimitedError,
    ReceivedRequest,
    TooLargeError,
    UnavailableError,
)
from whyflame.export.registry import (
    BoundExporter,
    BoundForwarder,
    build_exporter,
    build_forwarder,
    is_forwarder,
    known_exporters,
)
from whyflame.export.settings import ExportSettings, ForwardSettings

if TYPE_CHECKING:
    from whyflame.config import Config

__all__ = [
    "BoundExporter",
    "BoundForwarder",
    "ExportJob",
    "ExportSettings",
    "Exporter",
    "ForwardSettings",
    "Forwarder",
    "Forwarding",
    "LateError",
    "PausedError",
    "Payload",
    "RateLimitedError",
    "ReceivedRequest",
    "TooLargeError",
    "UnavailableError",
    "build_exporter",
    "build_exporters",
    "build_forwarder",
    "build_forwarders",
    "known_exporters",
]


def build_exporters(config: Config) -> list[BoundExporter]:
    """Every exporter of profiles of a configuration, options checked, nothing started.

    Raises:
        ConfigError: A type is unknown or an option is wrong.
    """
    promoted = tuple(config.fields)
    return [
        replace(build_exporter(name, block.type, block.options, promoted), settle=config.settle)
        for name, block in config.exporters.items()
        if not is_forwarder(block.type)
    ]


def build_forwarders(config: Config) -> list[BoundForwarder]:
    """Every forwarder of a configuration, options checked, nothing started.

    Raises:
        ConfigError: An option is wrong.
    """
    return [
        build_forwarder(name, block.type, block.options)
        for name, block in config.exporters.items()
        if is_forwarder(block.type)
    ]
