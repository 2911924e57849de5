"""Builds the extension with cargo and puts it into the wheel; one for Python 3.11 and all after it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

__all__ = ["NativeBuild"]


class NativeBuild(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Hatch calls it before it writes a wheel; CARGO_TARGET_DIR says where cargo works."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and say what the wheel holds and where it runs."""
        if version == "editable":
            raise ValueError("whyflame-native is built as a wheel: scripts/setup native")
        if "t" in sys.abiflags:
            raise ValueError("whyflame-native is not for free-threaded Pythons")
        if shutil.which("cargo") is None:
            raise ValueError(
                "cargo (Rust 1.63 or newer) builds it; whyflame works without, in Python"
            )
        root = Path(self.root)
        # Nothing is fetched: the crate has no dependencies.
        subprocess.run(
            ["cargo", "build", "--release", "--offline", "--quiet"], cwd=root, check=True
        )
        target = Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")
        library = target / "release" / "libwhyflame_native.so"
        build_data["force_include"][str(library)] = "whyflame_native/_native.abi3.so"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{next(platform_tags())}"
