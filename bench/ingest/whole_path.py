"""The whole path under load: `python bench/ingest/whole_path.py [--content off] [--sustain 300]`.

Prints one JSON line a run. Short runs: how fast spans are acknowledged and stored, CPU a span of
each process, then what settling and segmenting them takes. With --sustain: paced at --rate, with
everything on, with a line every 15 seconds: what was stored, lag, memory, refusals. With --tls or
--token: every run once in the clear and once so secured, then the ratios. CPU times hold on a busy
machine; rates do not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from load import Client, Outcome, Plan
from secured import Secured
from server import HELD, Server
from workload import Workload

# More than one settle pass that goes to the worker, so that its start is not counted.
WARM_UP = 24
TELL_EVERY = 15  # seconds
PLAIN = Secured()


def measure(
    workload: Workload, requests: int, settings: dict[str, Any], secured: Secured = PLAIN
) -> dict[str, Any]:
    """One closed-loop run on a fresh server."""
    with Server({**settings, "otlp": secured.settings}) as server:
        warm = _send(server, workload, Plan(requests=WARM_UP), secured)
        before_spans = warm.acked * workload.spans
        server.wait_indexed(before_spans, 60)
        server.settle_now()
        before = server.cpu_seconds()
        plan = Plan(requests=requests, first=len(workload.templates) * 1000)
        outcome = _send(server, workload, plan, secured)
        spans = outcome.acked * workload.spans
        stored_at = server.wait_indexed(before_spans + spans, 600)
        after = server.cpu_seconds()
        resident = server.resident_mib()
        cpu = {role: (after[role] - before.get(role, 0.0)) / spans * 1e6 for role in after}
        settled = _settle(server, spans)
        size = server.stored_bytes() / (before_spans + spans)
    return {
        "stored_spans_s": round(spans / (stored_at - outcome.began)),
        "server_cpu_us_span": round(sum(cpu.values()), 1),
        "cpu_us_span": {role: round(value, 1) for role, value in cpu.items()},
        "rss_mib": {role: round(value) for role, value in resident.items()},
        **settled,
        "bytes_span_on_disk": round(size),
    } | outcome.figures(workload.spans)


def _send(server: Server, workload: Workload, plan: Plan, secured: Secured) -> Outcome:
    plan = replace(plan, token=secured.token)
    return Client(server.grpc, workload, plan, secured.credentials).run()


def _settle(server: Server, spans: int) -> dict[str, dict[str, float]]:
    """CPU of settling and segmenting all that is stored."""
    before = server.cpu_seconds()
    server.settle_now()
    after = server.cpu_seconds()
    taken = {role: after[role] - before.get(role, 0.0) for role in ("store", "worker")}
    return {"settle_cpu_us_span": {key: round(n / spans * 1e6, 1) for key, n in taken.items()}}


def sustain(
    workload: Workload, seconds: float, rate: float, secured: Secured = PLAIN
) -> dict[str, Any]:
    """A paced run with every stage on; samples once a second, a line of them every 15."""
    with Server({"otlp": secured.settings}) as server:
        plan = Plan(seconds=seconds, spans_a_second=rate, token=secured.token)
        client = Client(server.grpc, workload, plan, secured.credentials)
        watch = Watch(server, client.outcome)
        before = server.cpu_seconds()
        with watch:
            outcome = client.run()
            spans = outcome.acked * workload.spans
            stored_at = server.wait_indexed(spans, 600)
        after = server.cpu_seconds()
        settled = server.metric("settled_operations_total")
    cpu = {role: round((after[role] - before.get(role, 0.0)) / spans * 1e6, 1) for role in after}
    return (
        {"stored_spans_s": round(spans / (stored_at - outcome.began)), "settled_spans": settled}
        | {"cpu_us_span_with_settling": cpu}
        | outcome.figures(workload.spans)
        | _over_time(watch.samples)
    )


class Watch:
    """Looks at a server once a second while it is used as a context; tells every 15 seconds.

    Args:
        server: Whose metrics. outcome: Of the client that loads it.
    """

    def __init__(self, server: Server, outcome: Outcome) -> None:
        self.samples: list[dict[str, float]] = []
        self._server, self._outcome = server, outcome
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.perf_counter()
        while not self._done.wait(1.0):
            self.samples.append({"at_s": time.perf_counter() - began} | self._look())
            if len(self.samples) % TELL_EVERY == 0:
                self._tell()

    def _look(self) -> dict[str, float]:
        metric = self._server.metric
        return {
            "stored": metric("indexed_spans_total"),
            "lag_s": metric("index_lag_seconds"),
            "pending_mb": metric("journal_pending_bytes") / 1e6,
            "unsettled": metric("unsettled_traces"),
        } | {f"{role}_mib": mib for role, mib in self._server.resident_mib().items()}

    def _tell(self) -> None:
        part = self.samples[-TELL_EVERY:]
        before = self.samples[-TELL_EVERY - 1] if len(self.samples) > TELL_EVERY else part[0]
        took = part[-1]["at_s"] - before["at_s"]
        said = {
            "at_s": round(part[-1]["at_s"]),
            "stored_spans_s": round((part[-1]["stored"] - before["stored"]) / took),
            **_lags(part),
            "rss_mib": {
                key.removesuffix("_mib"): round(value)
                for key, value in part[-1].items()
                if key.endswith("_mib")
            },
            "refused": dict(self._outcome.refused),
        }
        print(json.dumps(said), flush=True)


def _lags(samples: list[dict[str, float]]) -> dict[str, float]:
    lags = sorted(sample["lag_s"] for sample in samples)
    return {
        "lag_p50_s": round(statistics.median(lags), 2),
        "lag_p99_s": round(lags[int(len(lags) * 0.99)], 2),
    }


def _over_time(samples: list[dict[str, float]]) -> dict[str, Any]:
    """Lag as percentiles; memory as its course."""
    course = samples[:: max(1, len(samples) // 10)]
    return {
        **_lags(samples),
        "pending_mb_max": round(max(sample["pending_mb"] for sample in samples), 1),
        "unsettled_max": max(sample["unsettled"] for sample in samples),
        "rss_mib_course": {
            key.removesuffix("_mib"): [round(sample.get(key, 0.0)) for sample in course]
            for key in course[-1]
            if key.endswith("_mib")
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--content", choices=["off", "features", "both"], default="both")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--sustain", type=float, default=0.0, help="seconds of paced load instead")
    parser.add_argument("--rate", type=float, default=5000.0, help="spans a second when paced")
    parser.add_argument("--spans", type=int, default=512, help="spans a request")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--token", action="store_true", help="a bearer token in every request")
    options = parser.parse_args()
    wanted = ["off", "features"] if options.content == "both" else [options.content]
    with tempfile.TemporaryDirectory() as folder:
        ways = {"plain": PLAIN}
        if options.tls or options.token:
            ways["secured"] = Secured.make(Path(folder), tls=options.tls, token=options.token)
        for content in wanted:
            workload = Workload(spans=options.spans, content=content == "features")
            runs = [
                {way: _run(content, way, workload, options, ways[way]) for way in ways}
                for _ in range(options.repeat)
            ]
            if len(ways) > 1:
                print(json.dumps({"content": content, "secured_over_plain": _ratios(runs)}))


def _run(
    content: str, way: str, workload: Workload, options: argparse.Namespace, secured: Secured
) -> dict[str, Any]:
    """One run, printed."""
    if options.sustain:
        found = sustain(workload, options.sustain, options.rate, secured)
    else:
        found = measure(workload, options.requests, HELD, secured)
    head = {"content": content, "way": way, "bytes_span": round(workload.bytes_a_span)}
    load = Path("/proc/loadavg").read_text().split()[0]
    print(json.dumps(head | found | {"load": load}), flush=True)
    return found


def _ratios(runs: list[dict[str, dict[str, Any]]]) -> dict[str, float]:
    """Medians of what the secured run of each pair reached of the plain one."""
    return {
        name: round(
            statistics.median(pair["secured"][name] / pair["plain"][name] for pair in runs), 2
        )
        for name in ("acked_spans_s", "stored_spans_s")
    }


if __name__ == "__main__":
    main()
