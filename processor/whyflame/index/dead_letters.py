"""Requests that were acknowledged and cannot be read: kept aside, with the reason, bounded."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.journal import Signal

__all__ = ["DeadLetters"]

_LOG = logging.getLogger(__name__)
TENANT_FOLDER = "tenant="
MAX_FILES = 1000
MAX_BYTES = 256 << 20


class DeadLetters:
    """A directory of request bodies, named by reason, signal and content hash, one a tenant.

    The same request dead-lettered again (a replay after a crash) makes the same file. When the
    bounds are reached, further bodies are dropped; they stay counted.

    Args:
        directory: Made on first use, readable by the owner only: bodies are as received.
        max_files, max_bytes: Bounds.
    """

    def __init__(
        self, directory: Path, *, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._directory = directory
        self._max_files = max_files
        self._max_bytes = max_bytes

    def directory_of(self, tenant: str) -> Path:
        """Where bodies of a tenant lie."""
        return self._directory / f"{TENANT_FOLDER}{tenant}" if tenant else self._directory

    def forget(self, tenant: str) -> int:
        """Delete all bodies of a tenant, since nobody can tell whose they are; returns how many."""
        directory = self.directory_of(tenant)
        files = (
            [file for file in directory.iterdir() if file.is_file()] if directory.is_dir() else []
        )
        for file in files:
            file.unlink()
        return len(files)

    def keep(
        self, signal: Signal, payload: bytes, tenant: str, reason: str, received_ns: int = 0
    ) -> bool:
        """Write one body; False when the directory is full and it was not kept.

        Args:
            signal, payload, tenant, reason: What came, and why it is kept.
            received_ns: When it came; the file's time, which tells this arrival from later ones.
        """
        path = self._path(signal, payload, tenant, reason)
        if path.exists():
            return True
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = [file for file in self._directory.rglob("*") if file.is_file()]
        used = sum(file.stat().st_size for file in files)
        if len(files) >= self._max_files or used + len(payload) > self._max_bytes:
            _LOG.warning("dead-letter directory is full; a request (%s) is not kept", reason)
            return False
        partial = path.with_suffix(".partial")
        partial.write_bytes(payload)
        if received_ns:
            os.utime(partial, ns=(received_ns, received_ns))
        partial.replace(path)
        _LOG.warning(
            "a %s request could not be read (%s); kept as %s", signal.label, reason, path.name
        )
        return True

    def has_another(
        self, signal: Signal, payload: bytes, tenant: str, reason: str, received_ns: int
    ) -> bool:
        """Whether another arrival of this body is kept already."""
        try:
            kept = self._path(signal, payload, tenant, reason).stat()
        except FileNotFoundError:
            return False
        return kept.st_mtime_ns != received_ns

    def _path(self, signal: Signal, payload: bytes, tenant: str, reason: str) -> Path:
        digest = hashlib.sha256(tenant.encode() + b"\0" + payload).hexdigest()[:32]
        return self.directory_of(tenant) / f"{reason}.{signal.label}.{digest}.binpb"
