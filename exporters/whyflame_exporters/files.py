"""A folder or bucket of profiles, one file each, for archives and for `go tool pprof`."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.config.fields import section, setting
from whyflame.config.reading import read_options
from whyflame.errors import ConfigError
from whyflame.export import PausedError, UnavailableError
from whyflame_exporters.s3 import Bucket, S3Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whyflame.export import Payload

__all__ = ["FilesExporter", "FilesOptions", "Folder", "file_name"]


@dataclass(frozen=True, slots=True)
class FilesOptions:
    """Options of the files exporter: a folder or a bucket."""

    directory: str = setting("", "folder to write to; must exist")
    s3: S3Options = section(S3Options, "bucket to write to instead")


class FilesExporter:
    """Writes `[TENANT/]DAY/SERVICE/TIME-SERIES.pb.gz` to a folder or a bucket.

    Args:
        name: Name of the exporter block.
        options: The block's own keys.
        clock_ns: Now, in nanoseconds since the epoch, for signatures.

    Raises:
        ConfigError: An option is unknown or missing.
    """

    def __init__(
        self, name: str, options: Mapping[str, Any], clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        read = read_options(FilesOptions, options, f"exporters.{name}")
        if bool(read.directory) == ("s3" in options):
            raise ConfigError(f"exporters.{name}: needs directory or s3, one of them")
        self._target: Folder | Bucket = Folder(Path(read.directory).expanduser())
        if "s3" in options:
            self._target = Bucket(name, read.s3, clock_ns)

    def start(self) -> None:
        """Read secrets once; a folder that is missing now may be mounted later."""
        self._target.start()

    def send(self, payload: Payload) -> None:
        """Write the file whole or not at all; writing it again changes nothing."""
        self._target.put(file_name(payload), payload.body)

    def close(self, deadline_seconds: float) -> None:  # noqa: ARG002 - closing does not wait
        """Close connections."""
        self._target.close()


class Folder:
    """Puts files into a folder.

    Args:
        directory: The folder.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def start(self) -> None:
        """Nothing to prepare."""

    def put(self, name: Path, body: bytes) -> None:
        """Write a file whole or not at all.

        Raises:
            TransientError: The folder is missing, full, or not ours.
        """
        if not self._directory.is_dir():
            raise PausedError(f"{self._directory} is no folder", "no_folder")
        file = self._directory / name
        part = file.with_name(f".{file.name}.part")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as stream:
                stream.write(body)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        except PermissionError as error:
            raise PausedError(str(error), "no_permission") from error
        except OSError as error:
            raise UnavailableError(str(error)) from error

    def close(self) -> None:
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
