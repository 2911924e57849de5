"""What whyflame says to the processes that start from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.app.run import build_supervisor
from whyflame.config import Config, read_environment

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

THREADS = "OPENBLAS_NUM_THREADS"


def test_processes_of_a_server_compute_in_one_thread_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages keep the processors busy; a library's own threads would wait on them by spinning."""
    monkeypatch.setenv(THREADS, "")
    monkeypatch.delenv(THREADS)
    build_supervisor(Config(data_dir=str(tmp_path)))
    assert read_environment()[THREADS] == "1"


def test_who_sets_the_threads_has_set_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own figure stays."""
    monkeypatch.setenv(THREADS, "4")
    build_supervisor(Config(data_dir=str(tmp_path)))
    assert read_environment()[THREADS] == "4"
