"""OTLP carries one measure a profile: a server may take some of a payload's and refuse the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doubles.pyroscope import Double
from tests.doubles.pyroscope.faults import Fault
from tests.integration.export.backends import make_payload
from tests.integration.export.world import World, make_job

from whyflame.errors import PermanentError
from whyflame.export import RateLimitedError, UnavailableError
from whyflame_exporters.otlp_profiles import OtlpProfilesExporter

if TYPE_CHECKING:
    from pathlib import Path


def exporter_to(double: Double) -> OtlpProfilesExporter:
    return OtlpProfilesExporter("out", {"url": double.url})


def test_measures_that_were_taken_are_not_sent_again(tmp_path: Path) -> None:
    """Four profiles of 11 KB through a burst of 20 KB: each passes, one after the other."""
    world = World(tmp_path / "store.duckdb")
    with Double(clock=world.clock) as double:
        double.set_limits(rate_bytes_per_second=40_000, burst_bytes=20_000)
        world.settle(*[world.operation(leaf=f"call {number} " + "x" * 500) for number in range(20)])
        job = make_job(world, exporter_to(double))
        for _ in range(20):
            if not job.tick(0):
                break
            world.clock.advance(1)
        job.close()
        assert double.sums() == world.totals(), "before compaction too: nothing came twice"
    world.store.close()


def test_lowered_limits_split_before_anything_is_taken(tmp_path: Path) -> None:
    """The largest measure goes first, so that a refusal of its size finds nothing stored."""
    world = World(tmp_path / "store.duckdb")
    with Double(clock=world.clock) as double:
        calls = [world.operation(leaf=f"call {n}", self_ns=10**9 + n) for n in range(40)]
        world.settle(*calls)
        size = 900  # of the smaller measures; times need more bytes
        double.set_limits(rate_bytes_per_second=2 * size, burst_bytes=size)
        job = make_job(world, exporter_to(double))
        for _ in range(200):
            if not job.tick(0):
                break
            world.clock.advance(10)
        job.close()
        assert double.statuses.count(429) > 0
        double.compact()
        assert double.sums() == world.totals()
    world.store.close()


def test_what_is_too_large_after_others_were_taken_is_not_split() -> None:
    """Halves get times of their own: what was taken would count twice."""
    with Double() as double:
        exporter, payload = exporter_to(double), make_payload(1)
        exporter.start()
        double.fail_next(None)
        double.fail_next(413)
        with pytest.raises(PermanentError) as caught:
            exporter.send(payload)
        assert (type(caught.value), caught.value.reason) == (PermanentError, "partly_too_large")
        exporter.close(1)


def test_an_interrupted_payload_goes_on_where_it_stopped() -> None:
    with Double() as double:
        exporter, payload = exporter_to(double), make_payload(1)
        exporter.start()
        double.fail_next(None, times=2)
        double.fail_next(503)
        with pytest.raises(UnavailableError):
            exporter.send(payload)
        assert len(double.profiles.all) == 2
        exporter.send(payload)
        assert len(double.profiles.all) == 4
        exporter.send(payload)
        assert len(double.profiles.all) == 8, "and a whole one is sent whole when asked again"
        double.compact()
        assert double.sums() == {"operations": 2, "cost": 2, "duration": 8, "tokens": 120}
        exporter.close(1)


def test_a_limit_in_the_middle_of_a_payload_tells_when_it_ends() -> None:
    """Told by a moment, as Pyroscope does for a tenant's limit; and the rest is not to be split."""
    with Double() as double:
        exporter, payload = exporter_to(double), make_payload(1)
        exporter.start()
        double.fail_next(None)
        double.fail_next(Fault(429, message="limit reached, next reset at 2026-12-01T00:00:00Z"))
        with pytest.raises(RateLimitedError) as caught:
            exporter.send(payload)
        assert caught.value.resume_at_ns == 1_796_083_200 * 10**9
        assert caught.value.partly_taken
        exporter.send(payload)
        assert len(double.profiles.all) == 4
        exporter.close(1)
