"""Whatever dies between any two steps, every counted operation arrives exactly once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.doubles.pyroscope import LOST_ANSWER, RESET, Double, Fault, Flavour
from tests.integration.export.world import World, make_job

from whyflame.store import outbox as outbox_module
from whyflame_exporters.otlp_profiles import OtlpProfilesExporter
from whyflame_exporters.pyroscope import PyroscopeExporter

FAULTS: list[Fault | int] = [
    503, 500, 429, 504, RESET, LOST_ANSWER, Fault(500, stored=True),
    Fault(502, text="<html>bad gateway</html>"), Fault(429, headers={"Retry-After": "2"}),
]  # fmt: skip
# As an administrator may have set them; one sample always passes. What is lowered between a lost
# answer and its repetition makes halves of what was stored, which nobody can know.
LIMITS: list[dict[str, int]] = [
    {"samples": 1}, {"samples": 2}, {"rate_bytes_per_second": 3000, "burst_bytes": 1500},
    {"samples": 16_000, "rate_bytes_per_second": 4 << 20, "burst_bytes": 2 << 20},
]  # fmt: skip
STEPS = ("_next_id", "_carries", "_mark", "_write", "_write_carries", "_finish", "payloads")


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


class ExportMachine(RuleBasedStateMachine):
    """Operations settle, answers fail, processes die, servers compact."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder / "store.duckdb")
        self.settled = 0

    @initialize(
        flavour=st.sampled_from(list(Flavour)),
        encoding=st.sampled_from(["proto", "json", "otlp"]),
        limits=st.sampled_from(LIMITS),
    )
    def begin(self, flavour: Flavour, encoding: str, limits: dict[str, int]) -> None:
        self.double = Double(flavour, clock=self.world.clock).start()
        self.double.set_limits(**limits)
        self.encoding = encoding
        self.start_job()

    def start_job(self) -> None:
        options = {"url": self.double.url}
        self.exporter: Any = (
            OtlpProfilesExporter("out", options)
            if self.encoding == "otlp"
            else PyroscopeExporter("out", {**options, "encoding": self.encoding})
        )
        self.job = make_job(self.world, self.exporter)

    @rule(count=st.integers(1, 4), agents=st.integers(1, 3), nano=st.integers(0, 2500))
    def settle_operations(self, count: int, agents: int, nano: int) -> None:
        operations = []
        for number in range(count):
            self.settled += 1
            operations.append(
                self.world.operation(
                    trace=self.settled,
                    agent=f"agent {number % agents}",
                    cost_nanousd=nano,
                    leaf=f"call {number}" + "-" * 500,
                )
            )
        self.world.settle(*operations)

    @rule(seconds=st.sampled_from([0.5, 5, 20, 61]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    @rule()
    def tick(self) -> None:
        self.job.tick(0)

    @rule(fault=st.sampled_from(FAULTS), times=st.integers(1, 3))
    def answers_fail(self, fault: Fault | int, times: int) -> None:
        self.double.fail_next(fault, times)

    @rule(step=st.sampled_from(STEPS), after=st.booleans())
    def die_at(self, step: str, after: bool) -> None:
        """Run a tick that dies before or after a step of the outbox, then start again."""
        original = getattr(outbox_module.Outbox, step)

        def dying(*args: Any, **kwargs: Any) -> Any:
            if after:
                original(*args, **kwargs)
            raise Crash

        setattr(outbox_module.Outbox, step, dying)
        try:
            self.job.tick(0)
        except Crash:
            pass
        finally:
            setattr(outbox_module.Outbox, step, original)
        # What the kernel does for a dead process. Its last answer may have been a refusal that
        # nobody noted: that one is asked for again.
        self.double.refused.clear()
        self.exporter.close(1)
        self.world.reopen()
        self.start_job()

    @precondition(lambda self: hasattr(self, "job"))
    @rule()
    def restart(self) -> None:
        self.job.close()
        self.world.reopen()
        self.start_job()

    @rule()
    def compact(self) -> None:
        self.double.compact()

    @invariant()
    def nothing_is_dead(self) -> None:
        cursor = self.world.store.cursor()
        dead = cursor.execute("SELECT count(*) FROM outbox_done WHERE state = 'dead'").fetchone()
        assert dead == (0,)

    @invariant()
    def nothing_is_refused_twice(self) -> None:
        refused = self.double.refused if hasattr(self, "double") else []
        assert len(set(refused)) == len(refused)

    def teardown(self) -> None:
        if hasattr(self, "double"):
            self.drain()
            self.check_sums()
            self.double.close()
        self.world.store.close()
        shutil.rmtree(self.folder)

    def drain(self) -> None:
        self.double.faults.clear()
        for _ in range(60):
            self.world.clock.advance(5)
            if not self.job.tick(0):
                break
        self.job.close()

    def check_sums(self) -> None:
        self.double.compact()
        expected = self.world.totals()
        pushed = dict.fromkeys(expected, 0) | self.double.sums()
        # Rounding to whole micro-USD may run ahead or behind by one (see `export.money`).
        assert abs(pushed.pop("cost") - expected.pop("cost")) <= 1
        assert pushed == expected


class LongExportMachine(ExportMachine):
    """The same, tried harder."""


def _tried(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


ExportMachine.TestCase.settings = _tried(5, 12)
LongExportMachine.TestCase.settings = _tried(150, 30)
TestExportMachine = pytest.mark.slow(ExportMachine.TestCase)
TestLongExportMachine = pytest.mark.soak(pytest.mark.timeout(900)(LongExportMachine.TestCase))
