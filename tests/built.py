"""Programs that `scripts/peers` builds for tests, perhaps while they run."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["BUILD_SECONDS", "cache", "is_building", "wait_for_peers"]

# What a first build may take on two cores beside the tests.
BUILD_SECONDS = 900


def cache() -> Path:
    """Where they lie."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whyflame"


def wait_for_peers() -> None:
    """Return when nobody builds."""
    with suppress(FileNotFoundError), (cache() / "peers.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)


def is_building() -> bool:
    """True while somebody does."""
    with suppress(FileNotFoundError), (cache() / "peers.lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
