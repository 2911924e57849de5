"""Latency of the query API over HTTP, on a store of made-up operations.

    python bench/query/query_bench.py 10000000 [--store FOLDER] [--rounds 20]

Fills a store (kept in FOLDER for the next run when given), serves it, and asks each question in
turn, binary and over the whole time unless the name says otherwise. Prints milliseconds, and the
CPU seconds of server and client together, which other load on the machine does not change.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import socket
import statistics
import tempfile
import threading
import time
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from synthetic import SPAN_NS, START_NS, fill

from whyflame.config import Config, HttpConfig
from whyflame.config.callers import Callers
from whyflame.serve.access import RequireToken
from whyflame.serve.pyroscope import pyroscope_routes
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.runner import Runner
from whyflame.store.duck import Store

TOKENS = "agent:tokens:count:agent:count"
MEMORY = 1 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", type=int)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        file = (asked.store or Path(scratch)) / f"{asked.operations}.duckdb"
        if not file.exists():
            began = time.perf_counter()
            fill(file, asked.operations).close()
            print(f"filled in {time.perf_counter() - began:.0f} s")
        store = Store(file, memory_limit=MEMORY)
        calm_collector()
        run(store, asked.operations, asked.rounds)
        store.close()


def calm_collector() -> None:
    """As the store process does it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def run(store: Store, operations: int, rounds: int) -> None:
    end_ns = START_NS + operations * SPAN_NS + 10_000_000_000
    server, url = serve(store, end_ns)
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        for name, method, fields in questions(store, operations, end_ns // 1_000_000):
            measure(client, name, method, fields, rounds)
    server.should_exit = True
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak RSS of server and client {peak} MiB")


def questions(store: Store, operations: int, end: int) -> list[tuple[str, str, dict]]:
    whole = {"start": START_NS // 1_000_000, "end": end}
    hour = {"start": end - 3_600_000, "end": end}
    session = store.strings.value(len(store.strings) - operations // 80)
    cursor = store.cursor()
    trace, span = cursor.execute(
        "SELECT lower(hex(trace_id)), lower(hex(span_id)) FROM spans WHERE span_key = ?",
        [operations // 2 // 20 * 20],
    ).fetchone()
    at = (START_NS + operations // 2 * SPAN_NS) // 1_000_000
    around = {"start": at - 30_000, "end": at + 30_000}
    graph = {"profile_typeID": TOKENS, "label_selector": "{}"}
    merge = "SelectMergeStacktraces"
    return [
        ("graph, everything", merge, {**graph, **whole}),
        ("graph, 16,384 nodes", merge, {**graph, **whole, "max_nodes": 16_384}),
        ("graph, by model", merge, {**graph, **whole, "label_selector": '{stack_by="model,task"}'}),
        ("graph, one agent", merge, {**graph, **whole, "label_selector": '{agent="agent 3"}'}),
        ("graph, cost", merge, {**graph, **whole, "profile_typeID": TOKENS.replace("tokens:count", "cost:microusd")}),
        ("graph, last hour", merge, {**graph, **hour}),
        ("graph, one session", merge, {**graph, **whole, "label_selector": f'{{session="{session}"}}'}),
        ("graph, one trace", merge, {**graph, **whole, "trace_id_selector": [trace]}),
        ("span", "SelectMergeSpanProfile", {**graph, **around, "span_selector": [span]}),
        ("series by model, 60 steps", "SelectSeries", {**graph, **whole, "group_by": ["model"], "step": operations * SPAN_NS / 6e10}),
        ("with the largest traces", "SelectSeries", {**graph, **whole, "group_by": ["model"], "step": operations * SPAN_NS / 6e10, "exemplar_type": 2}),
        ("heat map, 64 steps", "SelectHeatmap", {**graph, **whole, "step": operations * SPAN_NS / 64e9, "query_type": 2, "exemplar_type": 3}),
        ("heat map, last hour", "SelectHeatmap", {**graph, **hour, "step": 57, "query_type": 2, "exemplar_type": 3}),
        ("label values, agent", "LabelValues", {**whole, "name": "agent"}),
        ("label values, service of type", "LabelValues", {**whole, "name": "service_name", "matchers": [TOKENS + "{}"]}),
        ("label values, session", "LabelValues", {**whole, "name": "session"}),
        ("label values, task", "LabelValues", {**whole, "name": "task"}),
        ("label values, types", "LabelValues", {**whole, "name": "__profile_type__"}),
        ("label names", "LabelNames", whole),
        ("profile types", "ProfileTypes", whole),
        ("series labels", "Series", {**whole, "label_names": ["service_name", "__profile_type__"]}),
    ]  # fmt: skip


def measure(client: httpx.Client, name: str, method: str, fields: dict, rounds: int) -> None:
    body = message_class(f"{method}Request")(**fields).SerializeToString()
    times, size, began_cpu = [], 0, cpu_seconds()
    for _ in range(rounds):
        began = time.perf_counter()
        answer = client.post(
            f"/querier.v1.QuerierService/{method}",
            content=body,
            headers={"Content-Type": "application/proto", "Accept-Encoding": "gzip"},
        )
        times.append((time.perf_counter() - began) * 1000)
        answer.raise_for_status()
        size = len(answer.content)
    cpu = (cpu_seconds() - began_cpu) / rounds
    p95 = statistics.quantiles(times, n=20)[-1] if rounds > 1 else times[0]
    median = statistics.median(times)
    print(f"{name:32} p50 {median:7.0f}  p95 {p95:7.0f}  cpu {cpu:6.2f} s  {size:>9,} bytes")


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def serve(store: Store, now_ns: int) -> tuple[uvicorn.Server, str]:
    app = Starlette(
        routes=pyroscope_routes(Runner(store, Config().query), Config(), lambda: now_ns),
        middleware=[Middleware(RequireToken, readers=Callers(HttpConfig().auth))],
    )
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    )
    run_server = server.serve(sockets=[listener])
    threading.Thread(target=lambda: asyncio.run(run_server), daemon=True).start()
    return server, f"http://127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    main()
