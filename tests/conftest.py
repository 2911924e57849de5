"""Fixtures every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a busy machine is no fault of the code. `--hypothesis-profile=thorough` looks longer.
settings.register_profile("quick", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("quick")

ROOT = Path(__file__).resolve().parents[1]


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
