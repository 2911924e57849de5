"""docs/exporters.md is true: every key is in it, and its example works as an installed package."""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.integration.export.world import World

from whyflame.config import parse
from whyflame.errors import ConfigError
from whyflame.export import (
    ExportJob,
    ExportSettings,
    ForwardSettings,
    build_exporters,
    build_forwarders,
    known_exporters,
)
from whyflame.export.fake import InlineExecutor
from whyflame.export.reshape import unpack
from whyflame_exporters.files import FilesOptions
from whyflame_exporters.forward import ForwardOptions
from whyflame_exporters.http import BasicAuth, TlsOptions
from whyflame_exporters.otlp_profiles import OtlpProfilesOptions
from whyflame_exporters.parca import ParcaOptions
from whyflame_exporters.pyroscope import PyroscopeOptions
from whyflame_exporters.s3 import S3Options

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "exporters.md").read_text(encoding="utf-8")


@pytest.fixture
def installed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example as somebody's package, entry point included."""
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (toml,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_package.py").write_text(code)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    entry = next(line for line in toml.splitlines() if line.startswith("shelf"))
    points = entry.replace('"', "")
    (info / "entry_points.txt").write_text(f"[whyflame.exporters]\n{points}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_package", raising=False)


def example(page: str, folder: Path) -> dict[str, Any]:
    """The last YAML block of the page, with a folder of this test."""
    block = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[-1])
    block["exporters"]["archive"]["folder"] = str(folder)
    result: dict[str, Any] = block
    return result


def test_every_key_is_documented(page: str) -> None:
    for options, prefix in (
        (ExportSettings, ""),
        (PyroscopeOptions, ""),
        (OtlpProfilesOptions, ""),
        (ParcaOptions, ""),
        (FilesOptions, ""),
        (S3Options, "s3."),
        (ForwardOptions, ""),
        (ForwardSettings, ""),
        (BasicAuth, "basic_auth."),
        (TlsOptions, "tls."),
    ):
        for field in dataclasses.fields(options):
            if field.name in {"basic_auth", "tls", "s3"}:
                continue
            assert f"`{prefix}{field.name}`" in page, f"{prefix}{field.name} is not documented"


def test_the_first_example_is_a_valid_configuration(page: str) -> None:
    block = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    (bound,) = build_exporters(parse(block))
    assert bound.name == "pyroscope"


def test_the_examples_of_forwarding_are_valid(page: str) -> None:
    (text,) = [
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "tempo" in block
    ]
    config = parse(yaml.safe_load(text), environment={"LANGFUSE_SECRET_KEY": "sk"})
    assert [bound.name for bound in build_forwarders(config)] == ["tempo", "langfuse"]
    assert build_exporters(config) == []


@pytest.mark.usefixtures("installed")
def test_the_example_is_found_and_exports(page: str, tmp_path: Path) -> None:
    assert "shelf" in known_exporters()
    folder = tmp_path / "profiles"
    world = World(tmp_path / "store.duckdb")
    world.settle(*[world.operation(agent=f"a{number}") for number in range(3)])
    bound = build_exporters(parse(example(page, folder)))
    job = ExportJob(world.store, bound, world.clock, executor=InlineExecutor)
    job.start()
    assert job.tick(0) is True, "the folder is missing: everything waits"
    folder.mkdir()
    for _ in range(4):
        world.clock.advance(61)
        job.tick(0)
    job.close()
    world.store.close()
    profiles = [unpack(file.read_bytes())[0] for file in folder.iterdir()]
    assert sum(profile.total("tokens") for profile in profiles) == 360
    assert {item.name for item in profiles[0].sample_types} == {"tokens", "cost"}


@pytest.mark.usefixtures("installed")
def test_the_example_refuses_wrong_options(page: str, tmp_path: Path) -> None:
    block = example(page, tmp_path)
    block["exporters"]["archive"]["folders"] = "x"
    with pytest.raises(ConfigError, match="needs `folder`"):
        build_exporters(parse(block))
