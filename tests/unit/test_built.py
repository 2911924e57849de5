"""Tests that need a peer wait while one is being built."""

from __future__ import annotations

import fcntl
import threading
from typing import TYPE_CHECKING

from tests.built import cache, is_building, wait_for_peers

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_they_wait_for_as_long_as_somebody_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wait_for_peers()
    assert not is_building(), "nobody ever has"
    cache().mkdir()
    with (cache() / "peers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_building()
        waiting = threading.Thread(target=wait_for_peers)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(20)
    assert not waiting.is_alive()
    assert not is_building()
