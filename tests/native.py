"""The native part for tests: without Rust there may be none, but never in CI."""

from __future__ import annotations

import os

import pytest

from whyflame import native

__all__ = ["require_native"]


def require_native() -> None:
    """Skip a test (or, at its top, a module) where the native part is not in use; fail in CI."""
    if native.part is not None:
        return
    reason = f"the native part is {native.described()}: scripts/setup native builds it, with cargo"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)
