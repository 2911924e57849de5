"""Fixtures every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.built import is_building

# No deadline: a busy machine is no fault of the code. `--hypothesis-profile=thorough` looks longer.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", PATIENT, max_examples=30)
settings.register_profile("thorough", PATIENT, max_examples=1000)
settings.load_profile("quick")

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Whether peers are being built: asked once, for all workers must order the tests alike."""
    os.environ.setdefault("WHYFLAME_PEERS_LAST", "1" if is_building() else "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with slow tests first, else in the random order: parallel workers end together.

    Those that need a program which is still being built go last.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    waits = os.environ["WHYFLAME_PEERS_LAST"]
    last = {item.path for item in items if waits and item.get_closest_marker("peer")}
    items.sort(key=lambda item: (item.path in last, item.path not in slow))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """After a failure, how to run in the same order again."""
    seed = config.getoption("randomly_seed", None)
    if exitstatus == pytest.ExitCode.TESTS_FAILED and seed is not None:
        terminalreporter.write_line(f"the order was --randomly-seed={seed}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference folder that lies beside the repository; fails in CI where it must be there."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        reason = "the reference folder ../shared (corpus, bench data) is not here"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
