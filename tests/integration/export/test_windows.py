"""Windows grow by themselves when the server or the number of series asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.export.world import SECOND, World, make_job

from whyflame.export.fake import MemoryExporter
from whyflame.export.reshape import unpack

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.export import ExportJob, Payload

pytestmark = pytest.mark.slow
ROUNDS = 15  # of settling every 15 s


class SlowServer(MemoryExporter):
    """Answers after a while, as a Pyroscope 2 does that writes to a bucket first."""

    def __init__(self, world: World, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self._world = world

    def send(self, payload: Payload) -> None:
        # Four are sent side by side, here one after the other.
        self._world.clock.advance(self.seconds / 4)
        super().send(payload)


def run(world: World, job: ExportJob, series: int, first: int = 0, rounds: int = ROUNDS) -> None:
    """Some minutes in which every series gets an operation every 15 s."""
    for number in range(first, first + rounds):
        until = world.clock() + 15 * SECOND
        world.settle(
            *[world.operation(trace=number + 1, agent=f"agent {agent}") for agent in range(series)]
        )
        while world.clock() < until:
            job.tick(0)
            world.clock.advance(3)


def drain(world: World, job: ExportJob) -> None:
    while job.flush(0):
        world.clock.advance(20)


def operations(exporter: MemoryExporter) -> int:
    return sum(unpack(payload.body)[0].total("operations") for payload in exporter.accepted)


def test_a_slow_server_makes_windows_wider_and_payloads_fewer(tmp_path: Path) -> None:
    world = World(tmp_path / "store.duckdb")
    exporter = SlowServer(world, 1)
    job = make_job(world, exporter)
    run(world, job, series=8)
    assert job.window_of("out") == 15
    assert len(exporter.accepted) == 8 * ROUNDS
    exporter.seconds = 10
    run(world, job, series=8, first=ROUNDS)
    assert job.window_of("out") > 60
    drain(world, job)
    assert operations(exporter) == 2 * 8 * ROUNDS
    assert len(exporter.accepted) < 1.7 * 8 * ROUNDS
    exporter.seconds = 0
    for calm in range(2, 6):
        run(world, job, series=1, first=calm * ROUNDS)
    assert job.window_of("out") == 15, "narrow again after calm minutes"
    world.store.close()


def test_many_series_do_so_too(tmp_path: Path) -> None:
    world = World(tmp_path / "store.duckdb")
    exporter = SlowServer(world, 1)
    job = make_job(world, exporter)
    run(world, job, series=80, rounds=4)
    assert job.window_of("out") > 15
    drain(world, job)
    assert operations(exporter) == 80 * 4
    world.store.close()
