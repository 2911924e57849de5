"""Bearer tokens from a file: several are valid at once, plain or hashed, each with its tenant."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.config.tenants import TENANT_RULE, is_tenant
from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BearerTokens"]

_LOG = logging.getLogger(__name__)
_HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
_CHECK_SECONDS = 1.0


class BearerTokens:
    """Decides whether an `Authorization` header may pass. Thread-safe.

    The file holds one token a line, or `sha256:<hex>` of one, and behind a blank the tenant that
    its bearer belongs to; empty lines and lines that begin with `#` are ignored. It is read again
    when it changes; while it cannot be read the tokens known last stay valid.

    Args:
        path: The file; empty means everybody may pass.
        clock: Monotonic seconds.

    Raises:
        ConfigError: The file cannot be read at the start, holds no token or a wrong tenant.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path) if path else None
        self._clock = clock
        self._lock = threading.Lock()
        self._checked = clock()
        self._stamp = self._read_stamp()
        self._known = self._load()

    @property
    def is_open(self) -> bool:
        """True when no token is asked for."""
        return self._path is None

    def tenant_of(self, authorization: str | None) -> str | None:
        """The tenant of the header's token, "" when it names none; None when it may not pass."""
        if self._path is None:
            return ""
        scheme, _, token = (authorization or "").partition(" ")
        self._reload_when_changed()
        presented = hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()
        # Every digest is compared, so that the time does not tell which one came close.
        matches = [t for digest, t in self._known if hmac.compare_digest(presented, digest)]
        return matches[0] if matches and scheme.lower() == "bearer" else None

    def _reload_when_changed(self) -> None:
        with self._lock:
            now = self._clock()
            if now - self._checked < _CHECK_SECONDS:
                return
            self._checked = now
            stamp = self._read_stamp()
            if stamp == self._stamp:
                return
            try:
                self._known = self._load()
                self._stamp = stamp
            except ConfigError as error:
                _LOG.warning("%s; the tokens known before stay valid", error)

    def _read_stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat() if self._path else None
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_size, status.st_ino) if status else None

    def _load(self) -> tuple[tuple[bytes, str], ...]:
        if self._path is None:
            return ()
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            raise ConfigError(f"cannot read the bearer tokens in {self._path}: {error}") from error
        entries = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        if not entries:
            raise ConfigError(f"{self._path} holds no bearer token; put one on a line")
        return tuple(self._entry(entry) for entry in entries)

    def _entry(self, entry: list[str]) -> tuple[bytes, str]:
        token, *named = entry
        tenant = named[0] if named else ""
        if len(named) > 1 or (tenant and not is_tenant(tenant)):
            raise ConfigError(f"{self._path}: a line is TOKEN or TOKEN TENANT; {TENANT_RULE}")
        return _digest(token), tenant


def _digest(token: str) -> bytes:
    hashed = _HASHED.fullmatch(token)
    return bytes.fromhex(hashed[1]) if hashed else hashlib.sha256(token.encode()).digest()
