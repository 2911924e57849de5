"""A stage's thread outlives whatever one step meets, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.app import stages
from whyflame.app.stages import repeat
from whyflame.app.state import State
from whyflame.errors import TransientError

if TYPE_CHECKING:
    import pytest


def _run(state: State, *, stops: bool) -> int:
    """A stage whose first step fails; how often it was tried."""
    tried = 0

    def step() -> None:
        nonlocal tried
        tried += 1
        if stops or tried > 1:
            state.stopping.set()
        if tried == 1:
            raise TransientError("broken off")

    thread = repeat("settle", state, step, pause=0.0)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    return tried


def test_a_step_that_fails_is_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stages, "FAILURE_PAUSE_SECONDS", 0.0)
    assert _run(State(), stops=False) == 2
    assert "settle failed: TransientError" in caplog.text


def test_what_a_stop_breaks_off_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A settle pass that a stop ended is found again at the next start; nobody has to know."""
    assert _run(State(), stops=True) == 1
    assert "failed" not in caplog.text
