"""A simulated fleet against Pyroscope's default limits: series, requests, bytes, refusals.

1,000 agent processes of 20 agents in 3 environments on 6 models; 50,000 sessions and 5 million
operations a day. Time is compressed: every second of the server's latency passes on a clock that
nobody waits for. The server is the test double with default limits, without HTTP between.

    python -m bench.export.fleet --hours 4
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.doubles.pyroscope.distributor import Distributor
from tests.doubles.pyroscope.errors import Refusal
from tests.doubles.pyroscope.limits import Flavour, Limits
from tests.doubles.pyroscope.profiles import Profiles
from tests.doubles.pyroscope.wire import PushRequest
from tests.integration.export.world import SECOND, World, make_job

from whyflame.model import Kind
from whyflame_exporters.answers import Answer, answer_error
from whyflame_exporters.pyroscope import encode_proto

if TYPE_CHECKING:
    from whyflame.export import Payload
    from whyflame.model import Operation

AGENTS, ENVIRONMENTS, MODELS = 20, ("prod", "staging", "dev"), 6
SESSIONS_A_DAY, OPERATIONS_A_SESSION = 50_000, 100
SESSION_SECONDS = 600
SETTLE_SECONDS = 15
TASKS = 200
OUTCOMES = ("success", "success", "success", "failure")


class Counted(Profiles):
    """Keeps series and sums instead of every profile, so that a day fits into memory."""

    def __init__(self, flavour: Flavour) -> None:
        super().__init__(flavour)
        self.series: set[Any] = set()
        self.totals: dict[str, int] = {}
        self.times: set[Any] = set()
        self.collisions = 0

    def add(self, profiles: list[Any]) -> None:
        for profile in profiles:
            key = (profile.labels, profile.type_id)
            self.collisions += (key, profile.time_ns) in self.times
            self.times.add((key, profile.time_ns))
            self.series.add(key)
            name = profile.sample_type
            self.totals[name] = self.totals.get(name, 0) + profile.total


class Server:
    """An exporter whose backend answers after `latency` seconds of simulated time."""

    def __init__(self, world: World, latency: float, in_flight: int, flavour: Flavour) -> None:
        self._world, self._step = world, latency / in_flight
        self.distributor = Distributor(flavour, Limits(), world.clock)
        self.counted = self.distributor.profiles = Counted(flavour)
        self.requests = self.bytes = self.samples = self.largest = 0
        self.refusals: dict[str, int] = {}

    def start(self) -> None:
        pass

    def send(self, payload: Payload) -> None:
        self._world.clock.advance(self._step)
        self.requests += 1
        try:
            self.distributor.push("fleet", PushRequest.FromString(encode_proto(payload)))
        except Refusal as refusal:
            name = refusal.message.split(":")[-1][:40]
            self.refusals[name] = self.refusals.get(name, 0) + 1
            error = answer_error(Answer(refusal.http_status, {}, refusal.message.encode()))
            assert error is not None
            raise error from refusal
        self.bytes += payload.size
        self.samples += payload.samples
        self.largest = max(self.largest, payload.size)

    def close(self, deadline_seconds: float) -> None:
        pass


def session(world: World, dice: random.Random, number: int) -> list[Operation]:
    """Operations of one session that ended just now."""
    agent = min(int(dice.expovariate(0.2)), AGENTS - 1)
    model = (agent + min(int(dice.expovariate(1.5)), 2)) % MODELS
    end, outcome = world.clock() - 30 * SECOND, dice.choice(OUTCOMES)
    base = {
        "trace": number + 1, "session": f"s{number}", "service": f"service-{agent}",
        "environment": dice.choices(ENVIRONMENTS, (8, 1, 1))[0], "agent": f"agent-{agent}",
        "outcome": outcome, "provider": f"provider-{model % 3}",
    }  # fmt: skip
    task = dice.randrange(TASKS)
    operations = []
    for step in range(OPERATIONS_A_SESSION):
        path = (f"do task {task}", f"handle step {task % 7 + step // 20}")
        ended = end - (OPERATIONS_A_SESSION - step) * SESSION_SECONDS * SECOND // 100
        shared = {**base, "path": path, "end_ns": ended, "step": step // 2}
        if step % 2:
            tool = f"run tool {dice.randrange(8)}"
            nothing = dict.fromkeys(("model", "input_uncached", "output_visible", "cost_nanousd"))
            operations.append(world.operation(**shared, **nothing, kind=Kind.TOOL, leaf=tool))
        else:
            tokens = dice.randrange(200, 20_000)
            operations.append(
                world.operation(
                    **shared, model=f"model-{model}", leaf=f"call model-{model}",
                    input_uncached=tokens, cost_nanousd=tokens * 317,
                )
            )  # fmt: skip
    return operations


def add_agent_span(world: World, operation: Operation) -> None:
    """The span from which Grafana would open the session's flame graph."""
    span = operation.span
    world.store.cursor().execute(
        "INSERT INTO spans (trace_key, span_id, kind, start_ns) VALUES (?, ?, 'agent', ?)",
        [
            span.trace_key,
            (span.trace_key * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8),
            span.start_ns,
        ],
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Simulate, drain, compare sums."""
    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "store.duckdb")
        server = Server(world, options.latency, options.in_flight, Flavour(options.flavour))
        links = options.span_links
        job = make_job(world, server, in_flight=1, late=options.late, span_links=links)
        began, windows, waits, number = time.monotonic(), deque(), [], 0
        first_ns = next_ns = world.clock()
        while next_ns < first_ns + int(options.hours * 3600) * SECOND:
            world.clock.now_ns = max(world.clock.now_ns, next_ns)
            due = SESSIONS_A_DAY * SETTLE_SECONDS / 86_400
            count = int(due) + (dice.random() < due % 1)
            sessions = [session(world, dice, number + extra) for extra in range(count)]
            number += count
            for operations in sessions:
                if links == "root":
                    add_agent_span(world, operations[0])
                world.settle(*operations)
            next_ns += SETTLE_SECONDS * SECOND
            while world.clock() < next_ns:
                world.clock.advance(2)
                job.tick(0)
            windows.append(job.window_of("out"))
            waits.append(job.delivery_of("out").waiting)
        # What is not due yet in a widened window is exported now, so that sums can be compared.
        job.flush(0)
        while job.tick(0):
            world.clock.advance(2)
        expected = world.totals()
        result = {
            "flavour": options.flavour, "span_links": links, "simulated_hours": options.hours, "latency_s": options.latency,
            "sessions": number, "operations": number * OPERATIONS_A_SESSION,
            "requests": server.requests,
            "requests_per_second": round(server.requests / options.hours / 3600, 2),
            "bytes_per_second": round(server.bytes / options.hours / 3600),
            "largest_profile_bytes": server.largest,
            "samples_per_request": round(server.samples / max(1, server.requests), 1),
            "series": len(server.counted.series),
            "window_s_at_end": windows[-1], "window_s_max": max(windows),
            "waiting_max": max(waits), "refusals": server.refusals,
            "collisions": server.counted.collisions,
            "lost": {name: expected[name] - server.counted.totals.get(name, 0) for name in expected},
            "wall_seconds": round(time.monotonic() - began),
        }  # fmt: skip
        job.close()
        world.store.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds a push takes")
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--flavour", default="v2.2", choices=[f.value for f in Flavour])
    parser.add_argument("--late", default="push")
    parser.add_argument("--span-links", default="root", choices=("root", "off"))
    result = run(parser.parse_args())
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
