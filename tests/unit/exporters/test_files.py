"""Names of archived profiles, and folders that are not there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.errors import ConfigError
from whyflame.export import PausedError, Payload
from whyflame_exporters.files import FilesExporter, file_name

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD = Payload(
    id=1,
    exporter="out",
    tenant="",
    labels=(("__name__", "agent"), ("service_name", "shop")),
    time_ns=1_796_000_000_123_456_789,
    body=b"x",
    size=1,
    samples=1,
)


def test_files_are_sorted_by_day_and_service() -> None:
    day, service, name = file_name(PAYLOAD).parts
    assert (day, service) == ("2026-11-30", "shop")
    assert name.startswith("1796000000123456789-agent-")
    assert name.endswith(".pb.gz")


def test_tenants_have_folders_of_their_own() -> None:
    assert file_name(replace(PAYLOAD, tenant="a")).parts[0] == "a"


@pytest.mark.parametrize("service", ["../../etc", "..", "/abs", "a/b", "", "ü" * 300])
def test_no_name_leaves_the_folder(service: str) -> None:
    labels = (("__name__", "agent"), ("service_name", service))
    path = file_name(replace(PAYLOAD, labels=labels, tenant=service or "x"))
    assert ".." not in path.parts
    assert not path.is_absolute()
    assert all(len(part) < 255 for part in path.parts)


def test_series_of_equal_time_have_different_files() -> None:
    labels = (("__name__", "agent"), ("agent", "b"), ("service_name", "shop"))
    assert file_name(replace(PAYLOAD, labels=labels)) != file_name(PAYLOAD)


def test_a_missing_folder_pauses(tmp_path: Path) -> None:
    exporter = FilesExporter("out", {"directory": str(tmp_path / "none")})
    exporter.start()
    with pytest.raises(PausedError, match="is no folder"):
        exporter.send(PAYLOAD)


@pytest.mark.parametrize("options", [{}, {"directory": "x", "folder": "y"}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"exporters\.out"):
        FilesExporter("out", options)
