"""`whyflame outbox` on a store that no server uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.integration.export.world import World, make_job

from whyflame.app.build import DATABASE
from whyflame.cli import main
from whyflame.errors import PermanentError
from whyflame.export.fake import MemoryExporter

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data directory with two dead letters."""
    world = World(tmp_path / DATABASE)
    world.settle(world.operation(agent="a"), world.operation(agent="b"))
    exporter = MemoryExporter()
    exporter.fail_next(PermanentError("400", "refused_400"), times=2)
    job = make_job(world, exporter)
    job.tick(0)
    job.close()
    world.store.close()
    return tmp_path


def outbox(folder: Path, *arguments: str) -> int:
    return main(["outbox", *arguments, "--data-dir", str(folder)])


def test_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outbox(folder) == 0
    printed = capsys.readouterr().out
    assert "refused_400" in printed
    assert "agent=a" in printed
    assert outbox(folder, "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in rows] == ["dead", "dead"]
    assert rows[0]["labels"]["service_name"] == "shop"


def test_retry_and_drop(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outbox(folder, "retry", "1") == 0
    assert outbox(folder, "drop", "--all-dead") == 0
    assert "drop: 1 profiles" in capsys.readouterr().out
    assert outbox(folder, "--format", "json") == 0
    assert [row["state"] for row in json.loads(capsys.readouterr().out)] == ["waiting"]


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outbox(folder, "retry") == 2
    assert outbox(folder, "retry", "99") == 2
    assert "number 99" in capsys.readouterr().err
    assert outbox(folder, "drop", "1", "2") == 0
    assert outbox(folder) == 3
