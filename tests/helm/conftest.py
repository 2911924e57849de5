"""A real Helm, and the chart rendered with each set of values in `helm/whyflame/ci`."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.built import peer

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "whyflame"
VALUES = sorted(CHART.glob("ci/*-values.yaml"))
VERSIONS = ("helm-v4", "helm-v3")


@dataclass(frozen=True)
class Helm:
    """One version of Helm with its own empty home."""

    binary: Path
    home: Path

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        folders = {f"HELM_{name}_HOME": str(self.home) for name in ("CACHE", "CONFIG", "DATA")}
        return subprocess.run(
            [self.binary, *arguments],
            env=os.environ | folders,
            capture_output=True,
            text=True,
            check=False,
        )

    @functools.cache  # noqa: B019  # one for each version
    def template(self, values: Path, *arguments: str) -> list[dict[str, Any]]:
        """The objects that the chart becomes, which nobody may change: rendered once."""
        return self.render(values, *arguments)

    def render(self, values: Path, *arguments: str) -> list[dict[str, Any]]:
        """The same, rendered anew."""
        done = self("template", "r", CHART, "-f", values, "--kube-version", "1.32.0", *arguments)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]


@pytest.fixture(scope="session", params=VERSIONS)
def helm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Each version in turn."""
    return Helm(peer(request.param), tmp_path_factory.mktemp("helm"))


@pytest.fixture
def newest_helm(tmp_path: Path) -> Helm:
    """The newest version alone."""
    return Helm(peer(VERSIONS[0]), tmp_path)


@pytest.fixture(params=VALUES, ids=lambda path: path.stem.removesuffix("-values"))
def values(request: pytest.FixtureRequest) -> Path:
    """One file of values that users could have."""
    path: Path = request.param
    return path
