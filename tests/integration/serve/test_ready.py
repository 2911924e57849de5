"""/readyz says whether data is taken: requirement 23 of a receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.app.http_port import takes_data
from whyflame.app.state import State
from whyflame.journal import JournalTail, JournalWriter, PendingLimit, Signal

if TYPE_CHECKING:
    from pathlib import Path


def test_not_ready_while_starting_stopping_or_full(tmp_path: Path) -> None:
    """Full: as much waits to be indexed as makes the receivers refuse; indexing ends it."""
    now = [0.0]
    pending = PendingLimit(tmp_path, 1000, clock=lambda: now[0])
    state = State()
    assert not takes_data(state, pending), "starting"
    state.receivers_ready = True
    assert takes_data(state, pending)
    writer = JournalWriter(tmp_path, "r0")
    writer.append(b"x" * 2000, signal=Signal.TRACES, received_ns=1, tenant="")
    now[0] += 1
    assert not takes_data(state, pending), "full"
    tail = JournalTail(tmp_path, {})
    tail.applied(tail.read(1 << 20).positions, 1.0)
    now[0] += 1
    assert takes_data(state, pending), "indexed"
    state.stopping.set()
    assert not takes_data(state, pending), "stopping"
    tail.close()
    writer.close()
