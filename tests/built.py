"""Programs that `scripts/peers` builds for tests, perhaps while they run."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

__all__ = ["BUILD_SECONDS", "cache", "go_pprof", "is_building", "peer", "wait_for_peers"]

# What a first build may take on two cores beside the tests.
BUILD_SECONDS = 900
SOURCES = Path(__file__).parent / "peers"
# As in scripts/peers, else Go's own packages are compiled twice.
GO_SETTINGS = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -gcflags=all=-dwarf=false"}


def cache() -> Path:
    """Where they lie."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whyflame"


def peer(name: str) -> Path:
    """One of them; without Go there may be none, but never in CI."""
    sources = ("collector/main.go", "querier/main.go", "go.mod", "go.sum")
    content = b"".join((SOURCES / file).read_bytes() for file in sources)
    binary = cache() / f"peers-{hashlib.sha256(content).hexdigest()[:16]}" / name
    wait_for_peers()
    if not binary.is_file():
        _give_up(f"no {name}: run scripts/peers, which needs Go", must=shutil.which("go"))
    return binary


@functools.cache
def go_pprof() -> str:
    """The real `go tool pprof`, built by Go where nobody did before."""
    places = ("/usr/local/go/bin", "/usr/lib/go/bin")
    go = shutil.which("go") or shutil.which("go", path=os.pathsep.join(places))
    if go is None:
        _give_up("no `go tool pprof`: Go is not installed")
    wait_for_peers()
    built = subprocess.run(
        [str(go), "tool", "-n", "pprof"],
        capture_output=True, text=True, check=True, env=os.environ | GO_SETTINGS,
    )  # fmt: skip
    return built.stdout.strip()


def _give_up(reason: str, *, must: object = None) -> None:
    if os.environ.get("CI") == "true" or must:
        pytest.fail(reason)
    pytest.skip(reason)


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
