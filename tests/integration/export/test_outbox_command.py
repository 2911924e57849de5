"""`whyflame outbox` on a store that no server uses, and on a running server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests import corpus
from tests.doubles.pyroscope import Double, Fault
from tests.integration.export.world import World, make_job
from tests.serving import Serving, wait_until

from whyflame.app.opening import DATABASE
from whyflame.cli import main
from whyflame.errors import PermanentError, UsageError
from whyflame.export.fake import MemoryExporter
from whyflame.store.outbox_letters import drop_letters, list_letters

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


def test_a_tenant_sees_and_changes_its_own(tmp_path: Path) -> None:
    world = World(tmp_path / "store.duckdb")
    world.settle(world.operation(trace=1, tenant="red"), world.operation(trace=1, tenant="blue"))
    exporter = MemoryExporter()
    exporter.fail_next(PermanentError("400", "refused_400"), times=2)
    job = make_job(world, exporter)
    job.tick(0)
    job.close()
    (red,) = list_letters(world.store, tenant="red")
    assert red.tenant == "red"
    with pytest.raises(UsageError, match=f"number {red.id}"):
        drop_letters(world.store, [red.id], 1, tenant="blue")
    assert drop_letters(world.store, [red.id], 1, tenant="red") == 1
    assert [letter.tenant for letter in list_letters(world.store)] == ["blue"]
    world.store.close()


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


def states(serving: Serving) -> set[str]:
    return {payload["state"] for payload in serving.get("/api/v1/outbox")["payloads"]}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_running_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dead letters are listed and tried again at once; then they are in the backend."""
    with Double() as double:
        double.fail_next(Fault(400, text="no"), times=1000)
        # Everything at once: a batch that follows the retry would be refused, or not, by chance.
        block = {"type": "pyroscope", "url": double.url, "late": "restamp", "hold": 0}
        with Serving(tmp_path / "d", {"exporters": {"p": block}}) as serving:
            url = ["--url", f"http://{serving.api}"]
            serving.send(corpus.cases()["handwritten-semconv-on"].requests())
            serving.settle()
            (row,) = serving.totals()
            wait_until(lambda: states(serving) == {"dead"}, 60)
            assert main(["outbox", *url]) == 0
            assert "refused_400" in capsys.readouterr().out
            double.faults.clear()
            assert main(["outbox", "retry", "--all-dead", *url]) == 0
            tokens = row["input_tokens"] + row["output_tokens"]
            wait_until(lambda: double.sums().get("tokens") == tokens, 60)
            wait_until(lambda: main(["outbox", *url]) == 3)
            assert main(["outbox", "drop", "99", *url]) == 2
