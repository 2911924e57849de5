"""The native part is used when it is of the same version, and said to be."""

from __future__ import annotations

import sys
import tomllib
from importlib import reload
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from whyflame import __version__, native

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    reload(native)


@pytest.mark.parametrize(
    ("version", "is_used", "said"),
    [
        (None, False, "not installed"),
        (__version__, True, "in use"),
        ("0.0.1", False, f"of version 0.0.1, not used by {__version__}"),
    ],
)
def test_only_one_of_the_same_version_is_used(
    version: str | None, is_used: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may give other features for the same text."""
    module = None
    if version is not None:
        module = ModuleType("whyflame_native")
        module.VERSION = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "whyflame_native", module)
    found = reload(native)
    monkeypatch.undo()
    assert (found.part is not None) is is_used
    assert found.described() == said


def test_both_have_one_version(root: Path) -> None:
    """The crate is built and required by the version of the whole."""
    crate = tomllib.loads((root / "native" / "Cargo.toml").read_text())
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert crate["package"]["version"] == __version__
    assert project["optional-dependencies"]["native"] == [f"whyflame-native=={__version__}"]


def test_the_crate_fetches_nothing(root: Path) -> None:
    """No dependencies: nothing to lock, and it builds without a network."""
    crate = tomllib.loads((root / "native" / "Cargo.toml").read_text())
    assert not crate["dependencies"]
    assert "build-dependencies" not in crate
