"""Every answer has its consequence: what is sent again, when, and with which bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.pyroscope import Double
from tests.integration.export.world import SECOND, World, make_job

from whyflame.errors import PermanentError
from whyflame.export import (
    LateError,
    PausedError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from whyflame.export.fake import MemoryExporter
from whyflame.export.reshape import unpack
from whyflame_exporters.pyroscope import PyroscopeExporter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "store.duckdb")
    yield made
    made.store.close()


@pytest.fixture
def exporter() -> MemoryExporter:
    return MemoryExporter()


def states(world: World) -> dict[str, int]:
    rows = (
        world.store.cursor()
        .execute("SELECT state, count(*) FROM outbox_done GROUP BY state")
        .fetchall()
    )
    return dict(rows)


def reasons(world: World) -> list[str]:
    rows = (
        world.store.cursor()
        .execute("SELECT reason FROM outbox_done WHERE state = 'dead' ORDER BY id")
        .fetchall()
    )
    return [reason for (reason,) in rows]


def tokens(exporter: MemoryExporter) -> int:
    return sum(unpack(payload.body)[0].total("tokens") for payload in exporter.accepted)


def test_a_delivered_payload_is_final(world: World, exporter: MemoryExporter) -> None:
    world.settle(world.operation())
    job = make_job(world, exporter)
    assert job.tick(0) is False
    world.clock.advance(10)
    job.tick(0)
    assert len(exporter.attempts) == 1
    assert states(world) == {"sent": 1}


@pytest.mark.parametrize(
    "error", [UnavailableError("503"), RateLimitedError("429"), RuntimeError("a bug")]
)
def test_what_may_pass_later_is_sent_again_byte_by_byte(
    world: World, exporter: MemoryExporter, error: Exception
) -> None:
    world.settle(world.operation())
    exporter.fail_next(error, times=3, stored=True)
    job = make_job(world, exporter)
    assert job.tick(0) is True
    assert job.tick(0) is True
    assert len(exporter.attempts) == 1, "not before the back-off is over"
    for _ in range(40):
        world.clock.advance(1)
        job.tick(0)
    assert len(exporter.attempts) == 4
    assert len(set(exporter.attempts)) == 1
    assert states(world) == {"sent": 1}


def test_retry_after_is_honoured(world: World, exporter: MemoryExporter) -> None:
    world.settle(world.operation())
    exporter.fail_next(RateLimitedError("429", retry_after_seconds=30))
    job = make_job(world, exporter)
    job.tick(0)
    world.clock.advance(29)
    job.tick(0)
    assert len(exporter.attempts) == 1
    world.clock.advance(1)
    job.tick(0)
    assert len(exporter.accepted) == 1


def test_a_reset_moment_is_waited_for(world: World, exporter: MemoryExporter) -> None:
    world.settle(world.operation())
    exporter.fail_next(RateLimitedError("429", resume_at_ns=world.clock() + 500 * SECOND))
    job = make_job(world, exporter)
    job.tick(0)
    world.clock.advance(499)
    job.tick(0)
    assert len(exporter.attempts) == 1
    world.clock.advance(2)
    job.tick(0)
    assert len(exporter.accepted) == 1


def test_wrong_credentials_pause_everything_and_one_payload_asks_again(
    world: World, exporter: MemoryExporter
) -> None:
    world.settle(*[world.operation(agent=f"a{number}") for number in range(8)])
    exporter.fail_next(PausedError("401", "unauthorized"), times=8)
    job = make_job(world, exporter)
    job.tick(0)
    first = len(exporter.attempts)
    assert first <= 4
    world.clock.advance(59)
    job.tick(0)
    assert len(exporter.attempts) == first
    world.clock.advance(2)
    job.tick(0)
    assert len(exporter.attempts) == first + 1
    exporter._failures.clear()
    for _ in range(3):
        world.clock.advance(61)
        job.tick(0)
    assert len(exporter.accepted) == 8


def test_after_failures_in_a_row_only_one_payload_asks(
    world: World, exporter: MemoryExporter
) -> None:
    world.settle(*[world.operation(agent=f"a{number}") for number in range(8)])
    exporter.fail_next(UnavailableError("503"), times=100)
    job = make_job(world, exporter)
    job.tick(0)
    before = len(exporter.attempts)
    world.clock.advance(300)
    job.delivery_of("out").pump(world.clock())
    assert len(exporter.attempts) == before + 1


def test_a_server_that_is_away_is_said_once_and_its_return_too(
    world: World, exporter: MemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong host name shows nowhere else."""
    world.settle(*[world.operation(agent=f"a{number}") for number in range(4)])
    exporter.fail_next(UnavailableError("pyroscop:4040: Name or service not known"), times=9)
    job = make_job(world, exporter)
    for _ in range(12):
        job.tick(0)
        world.clock.advance(61)
    assert len(exporter.accepted) == 4
    assert [record.getMessage() for record in caplog.records] == [
        "exporter out cannot deliver, and tries on: pyroscop:4040: Name or service not known",
        "exporter out goes on",
    ]


def test_a_server_whose_clock_is_behind_gets_everything_later(tmp_path: Path) -> None:
    """What it refuses as too new is not late, and no dead letter."""
    world = World(tmp_path / "ahead.duckdb")
    with Double(clock=lambda: world.clock() - 1500 * SECOND) as double:
        pyroscope = PyroscopeExporter("out", {"url": double.url})
        pyroscope.start()
        world.settle(world.operation())
        job = make_job(world, pyroscope)
        job.tick(1)
        assert not double.sums()
        for _ in range(20):
            world.clock.advance(61)
            job.tick(0.3)
        job.close()
        assert double.sums() == world.totals()
        assert not reasons(world)
        pyroscope.close(1)
    world.store.close()


def test_a_refused_payload_is_a_dead_letter_and_blocks_nobody(
    world: World, exporter: MemoryExporter
) -> None:
    world.settle(world.operation(agent="a"), world.operation(agent="b"))
    exporter.fail_next(PermanentError("400", "refused_400"))
    job = make_job(world, exporter)
    job.tick(0)
    assert (len(exporter.accepted), reasons(world)) == (1, ["refused_400"])
    world.clock.advance(3600)
    job.tick(0)
    assert len(exporter.attempts) == 2


def test_too_large_is_split_until_it_passes(world: World, exporter: MemoryExporter) -> None:
    world.settle(*[world.operation(leaf=f"call {number}") for number in range(8)])
    exporter.fail_next(TooLargeError("413"), times=3)
    job = make_job(world, exporter)
    for _ in range(6):
        job.tick(0)
    assert tokens(exporter) == 8 * 120
    times = [payload.time_ns for payload in exporter.attempts]
    assert len(set(times)) == len(times)
    assert states(world) == {"split": 3, "sent": 4}


def large(world: World) -> None:
    """Some hundred kilobytes in one payload."""
    world.settle(*[world.operation(leaf=f"call {n} " + "x" * 3000) for n in range(100)])


def test_a_large_payload_that_a_rate_never_lets_pass_is_split(
    world: World, exporter: MemoryExporter
) -> None:
    large(world)
    exporter.fail_next(RateLimitedError("429"), times=6)
    job = make_job(world, exporter)
    while job.tick(0):
        world.clock.advance(61)
    assert (states(world), tokens(exporter)) == ({"split": 1, "sent": 2}, 100 * 120)


def test_what_may_have_been_stored_is_not_split(world: World, exporter: MemoryExporter) -> None:
    """Halves have times of their own: a server that kept the whole would count it twice."""
    large(world)
    exporter.fail_next(UnavailableError("timed out"), stored=True)
    exporter.fail_next(RateLimitedError("429"), times=9)
    job = make_job(world, exporter)
    while job.tick(0):
        world.clock.advance(61)
    assert states(world) == {"sent": 1}
    assert len(set(exporter.accepted)) == 1


def test_what_was_partly_taken_is_not_split(world: World, exporter: MemoryExporter) -> None:
    """However often a limit stops the rest of it."""
    large(world)
    exporter.fail_next(RateLimitedError("429", partly_taken=True), times=9)
    job = make_job(world, exporter)
    while job.tick(0):
        world.clock.advance(61)
    assert states(world) == {"sent": 1}


def test_one_sample_that_is_too_large_is_a_dead_letter(
    world: World, exporter: MemoryExporter
) -> None:
    world.settle(world.operation())
    exporter.fail_next(TooLargeError("413"))
    make_job(world, exporter).tick(0)
    assert reasons(world) == ["too_large"]


def test_a_server_that_refuses_old_profiles_is_believed(
    world: World, exporter: MemoryExporter
) -> None:
    old = world.clock() - 7200 * SECOND
    world.settle(
        *[world.operation(agent=f"a{number}", end_ns=old) for number in range(9)],
        world.operation(agent="fresh"),
    )
    exporter.fail_next(LateError("outside of ingestion window"))
    job = make_job(world, exporter, in_flight=1)
    job.tick(0)
    assert reasons(world) == ["late"] * 9
    assert len(exporter.attempts) == 2
    assert len(exporter.accepted) == 1


def test_late_drop_sends_nothing_late(world: World, exporter: MemoryExporter) -> None:
    world.settle(
        world.operation(end_ns=world.clock() - 7200 * SECOND), world.operation(agent="fresh")
    )
    make_job(world, exporter, late="drop").tick(0)
    assert [dict(payload.labels)["agent"] for payload in exporter.attempts] == ["fresh"]


def test_late_restamp_puts_old_work_into_the_present(
    world: World, exporter: MemoryExporter
) -> None:
    for hours in (2, 3):
        world.settle(world.operation(trace=hours, end_ns=world.clock() - hours * 3600 * SECOND))
    make_job(world, exporter, late="restamp").tick(0)
    (payload,) = exporter.accepted
    assert world.clock() - payload.time_ns < 60 * SECOND
    assert tokens(exporter) == 240


def test_restamp_in_the_outbox_only_when_no_attempt_can_have_been_stored(
    world: World, exporter: MemoryExporter
) -> None:
    world.settle(world.operation(agent="tried"))
    exporter.fail_next(UnavailableError("time-out"), stored=False)
    job = make_job(world, exporter, late="restamp")
    job.tick(0)
    job.close()
    world.settle(world.operation(trace=1, agent="untried"))
    job = make_job(world, exporter, late="restamp", in_flight=1)
    exporter.fail_next(PausedError("401", "unauthorized"))
    # The untried payload is made now and waits for two hours behind the pause.
    job.tick(0)
    world.clock.advance(7200)
    job.tick(0)
    job.tick(0)
    assert [dict(payload.labels)["agent"] for payload in exporter.accepted] == ["untried"]
    assert world.clock() - exporter.accepted[0].time_ns < 60 * SECOND
    assert reasons(world) == ["late"]


def test_payloads_expire(world: World, exporter: MemoryExporter) -> None:
    world.settle(world.operation())
    exporter.fail_next(UnavailableError("503"), times=10_000)
    job = make_job(world, exporter, give_up_after=3600.0)
    for _ in range(40):
        job.tick(0)
        world.clock.advance(120)
    assert reasons(world) == ["expired"]


def test_the_rate_is_kept(world: World, exporter: MemoryExporter) -> None:
    operations = [world.operation(agent=f"a{number}", leaf="x" * 900) for number in range(20)]
    world.settle(*operations)
    job = make_job(world, exporter, bytes_per_second=2048, max_profile_bytes=2048)
    began = world.clock()
    while job.tick(0):
        world.clock.advance(0.25)
    sent = sum(payload.size for payload in exporter.accepted)
    assert len(exporter.accepted) == 20
    assert sent <= 2048 + 2048 * (world.clock() - began) / SECOND


def test_nothing_new_is_taken_while_the_outbox_is_full(
    world: World, exporter: MemoryExporter
) -> None:
    exporter.fail_next(UnavailableError("503"), times=3)
    job = make_job(world, exporter, max_outbox_bytes=1)
    for trace in range(3):
        world.settle(world.operation(trace=trace))
        world.clock.advance(3)
        job.tick(0)
    marks = world.store.cursor().execute("SELECT count(*) FROM exported").fetchone()
    assert marks == (1,)
    for _ in range(10):
        world.clock.advance(60)
        job.tick(0)
    assert tokens(exporter) == 360


def test_threads_really_send_side_by_side(world: World) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    from whyflame.export import BoundExporter, ExportJob, ExportSettings

    barrier = Barrier(4)

    class Meeting(MemoryExporter):
        def send(self, payload: Any) -> None:
            barrier.wait(timeout=10)
            super().send(payload)

    exporter = Meeting()
    world.settle(*[world.operation(agent=f"a{number}") for number in range(4)])
    bound = BoundExporter("out", exporter, ExportSettings())
    job = ExportJob(world.store, [bound], world.clock, ThreadPoolExecutor)
    job.start()
    assert job.tick(10) is False
    job.close()
    assert (len(exporter.accepted), exporter.closed) == (4, 1)
