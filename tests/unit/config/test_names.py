"""The package hands out its names when they are asked for."""

from __future__ import annotations

import pytest

import whyflame.config as package
from whyflame.config import reading


def test_every_name_is_found() -> None:
    assert {name for name in package.__all__ if getattr(package, name) is None} == set()
    assert package.load is reading.load


def test_another_name_is_refused_as_by_any_module() -> None:
    assert not hasattr(package, "nothing")
    with pytest.raises(ImportError, match="cannot import name 'Konfig'"):
        from whyflame.config import Konfig  # type: ignore[attr-defined]  # noqa: F401
