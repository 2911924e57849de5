"""The native part is used when it is of the same version, and said to be."""

from __future__ import annotations

import ast
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
    ("version", "names", "is_used", "said"),
    [
        (None, native.NAMES, False, "not installed"),
        (__version__, native.NAMES, True, "in use"),
        ("0.0.1", native.NAMES, False, f"of version 0.0.1, not used by {__version__}"),
        (__version__, native.NAMES[1:], False, "of an older build, not used"),
        (__version__, (), False, "of an older build, not used"),
    ],
)
def test_only_one_of_the_same_version_is_used(
    version: str | None,
    names: tuple[str, ...],
    is_used: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another one may give other features for the same text; one that was not built anew lacks functions."""
    module = None
    if version is not None:
        module = ModuleType("whyflame_native._native")
        vars(module).update(dict.fromkeys(names), VERSION=version)
    package = ModuleType("whyflame_native")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "whyflame_native", package)
    monkeypatch.setitem(sys.modules, "whyflame_native._native", module)
    found = reload(native)
    monkeypatch.undo()
    assert (found.part is not None) is is_used
    assert found.described() == said


def test_what_is_asked_for_is_what_it_gives(root: Path) -> None:
    """A new function is asked for, so that a build without it is known as such."""
    stub = ast.parse((root / "native" / "whyflame_native" / "_native.pyi").read_text())
    given = [node.name for node in stub.body if isinstance(node, ast.FunctionDef)]
    given += [
        node.target.id
        for node in stub.body
        if isinstance(node, ast.AnnAssign) and node.value is None
    ]
    assert sorted(native.NAMES) == sorted(given)


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
