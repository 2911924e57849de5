"""Time of query, fold and pprof over synthetic operations.

    python bench/fold/fold_bench.py 27765 1000000 10000000 [--view]

Prints, for every stage, the median wall time and the least CPU time of the repetitions in
milliseconds; on a busy machine the CPU time is the one to trust. Reads the table `settled` unless
`--view` is given, which asks the view `operations` and so includes the join that finds the newest
generation.
"""

from __future__ import annotations

import itertools
import resource
import statistics
import sys
import time

import duckdb
from synthetic import Store

from whyflame.config import Config
from whyflame.fold import pprof
from whyflame.fold.fold import fold_columns
from whyflame.fold.projection import compile_query
from whyflame.fold.views import view_projection

REPETITIONS = 7


def main() -> None:
    relation = "operations" if "--view" in sys.argv else "settled"
    for size in (int(word) for word in sys.argv[1:] if word.isdigit()):
        connection = duckdb.connect()
        connection.execute("SET threads = 2")
        store = Store(connection, size)
        query = compile_query(view_projection("tokens", Config()), relation)
        report(size, [run(connection, store, query) for _ in range(REPETITIONS)])


def run(connection, store, query) -> dict[str, tuple[float, float]]:
    """(wall, CPU) seconds of every stage, and of all together."""
    marks = [(time.perf_counter(), time.process_time())]
    names = []

    def mark(name: str) -> None:
        names.append(name)
        marks.append((time.perf_counter(), time.process_time()))

    columns = list(connection.execute(query.sql, query.params).fetchnumpy().values())
    mark("query")
    profile = fold_columns(query, columns, store)
    mark("fold")
    message = pprof.encode_message(profile)
    mark("encode")
    packed = pprof.gzip_bytes(message, 1)
    mark("gzip")
    spans = itertools.pairwise(marks)
    times = {
        name: (after[0] - before[0], after[1] - before[1])
        for name, (before, after) in zip(names, spans, strict=True)
    }
    times["all"] = (marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1])
    run.sizes = f"{len(profile):,} stacks, {len(message):,} bytes, {len(packed):,} packed"
    return times


def report(size: int, runs: list[dict[str, tuple[float, float]]]) -> None:
    parts = []
    for name in runs[0]:
        wall = statistics.median(row[name][0] for row in runs) * 1000
        cpu = min(row[name][1] for row in runs) * 1000
        parts.append(f"{name} {wall:.1f} (CPU {cpu:.1f})")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{size:,} operations: {', '.join(parts)} ms; {run.sizes}; peak RSS {peak} MiB")


main()
