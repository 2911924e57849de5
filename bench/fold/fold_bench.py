"""Time and memory of one profile over synthetic operations: warm, and as a cold command.

    python bench/fold/fold_bench.py 27765 1000000 10000000

Warm: a process that has the store open asks again and again, as the server does; folding is the
query and the stacks, encoding is gzip-compressed pprof. Cold: `whyflame profile --data-dir`.
Median wall time and least CPU time of the repetitions; on a busy machine the CPU time is the one
to trust. Every figure comes from a process of its own, so that memory is that of its work alone.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bytecode import compiled_once
from synthetic import build

REPETITIONS = 7


def main() -> None:
    print("| operations | stacks | fold | encode | all | CPU | memory | cold | CPU | memory |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for size in (int(word) for word in sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder, compiled_once() as environment:
            in_child(build, Path(folder), size)
            warm = in_child(measure_warm, Path(folder))
            # The first compiles, which an installation has behind it.
            cold = [measure_cold(Path(folder), environment) for _ in range(6)][1:]
        wall = {
            name: statistics.median(run[name] for run in warm["runs"]) for name in warm["runs"][0]
        }
        print(
            f"| {size:,} | {warm['stacks']:,} | {wall['fold']:.1f} ms | {wall['encode']:.1f} ms "
            f"| {wall['all']:.1f} ms | {min(run['cpu'] for run in warm['runs']):.0f} ms "
            f"| {warm['mib']} MiB | {statistics.median(run['wall'] for run in cold):.0f} ms "
            f"| {min(run['cpu'] for run in cold):.0f} ms | {max(run['mib'] for run in cold)} MiB |",
            flush=True,
        )


def in_child(function, *arguments):
    """What a function returns in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def measure_warm(folder: Path) -> dict:
    """Times in milliseconds of repeated questions, and the process's peak memory."""
    from whyflame.app.opening import DATABASE
    from whyflame.config import Config
    from whyflame.fold.encode import encode_by_name
    from whyflame.serve.questions import Filter, ProfileRequest
    from whyflame.serve.store_questions import StoreQuestions
    from whyflame.store.duck import Store

    store = Store(folder / DATABASE)
    # The store process has the tables of ids in memory: settling codes with them.
    len(store.strings), len(store.paths)
    questions = StoreQuestions(store, Config(), time.time_ns)
    request = ProfileRequest("tokens", None, (), (), Filter((), None, None))
    runs, stacks = [], 0
    for _ in range(REPETITIONS):
        began, cpu = time.perf_counter(), time.process_time()
        profile = questions.fold(request)
        folded = time.perf_counter()
        encode_by_name(profile, "pprof")
        done = time.perf_counter()
        times = {"fold": folded - began, "encode": done - folded, "all": done - began}
        times["cpu"] = time.process_time() - cpu
        runs.append({name: seconds * 1000 for name, seconds in times.items()})
        stacks = len(profile)
    store.close()
    return {"runs": runs, "stacks": stacks, "mib": mib(resource.getrusage(resource.RUSAGE_SELF))}


def measure_cold(folder: Path, environment: dict[str, str]) -> dict:
    """The whole command, interpreter and imports included."""
    command = [sys.executable, "-m", "whyflame", "profile", "--view", "tokens"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--data-dir", str(folder), "-o", str(folder / "p.pb.gz")],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, json.dumps(command)
    cpu = usage.ru_utime + usage.ru_stime
    return {"wall": (time.perf_counter() - began) * 1000, "cpu": cpu * 1000, "mib": mib(usage)}


def mib(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss // 1024


if __name__ == "__main__":
    main()
