"""A folder of profiles, one file each, for archives and for `go tool pprof`."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import setting
from whyflame.config.load import read_options
from whyflame.errors import ConfigError
from whyflame.export import PausedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyflame.export import Payload

__all__ = ["FilesExporter", "FilesOptions", "file_name"]


@dataclass(frozen=True, slots=True)
class FilesOptions:
    """Options of the files exporter."""

    directory: str = setting("", "folder to write to; must exist")


class FilesExporter:
    """Writes `DIRECTORY/[TENANT/]DAY/SERVICE/TIME-SERIES.pb.gz`.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.

    Raises:
        ConfigError: An option is unknown or missing.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        read: FilesOptions = read_options(FilesOptions, options, f"exporters.{name}")
        if not read.directory:
            raise ConfigError(f"exporters.{name}: directory is missing")
        self._directory = Path(read.directory).expanduser()

    def start(self) -> None:
        """Nothing to prepare: a folder that is missing now may be mounted later."""

    def send(self, payload: Payload) -> None:
        """Write the file whole or not at all; writing it again changes nothing."""
        if not self._directory.is_dir():
            raise PausedError(f"{self._directory} is no folder", "no_folder")
        file = self._directory / file_name(payload)
        part = file.with_name(f".{file.name}.part")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as stream:
                stream.write(payload.body)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        except PermissionError as error:
            raise PausedError(str(error), "no_permission") from error
        except OSError as error:
            raise UnavailableError(str(error)) from error

    def close(self, deadline_seconds: float) -> None:
        """Nothing to release."""


def file_name(payload: Payload) -> Path:
    """Where a payload belongs: equal for equal payloads, different for all others."""
    day = datetime.fromtimestamp(payload.time_ns // 1_000_000_000, tz=UTC).strftime("%Y-%m-%d")
    labels = dict(payload.labels)
    series = hashlib.sha256(repr(payload.labels).encode()).hexdigest()[:12]
    name = f"{payload.time_ns}-{labels['__name__']}-{series}.pb.gz"
    tenant = [_safe(payload.tenant)] if payload.tenant else []
    return Path(*tenant, day, _safe(labels["service_name"]), _safe(name))


def _safe(text: str) -> str:
    """One path component that stays where it is put."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]", "_", text)[:120]
    return cleaned if cleaned.strip(".") else "_" + cleaned
