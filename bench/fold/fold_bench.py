"""Time of query, fold and pprof over synthetic operations.

    python bench/fold/fold_bench.py 27765 1000000 10000000 [--view]

Prints milliseconds (median of the repetitions). Reads the table `settled` unless `--view` is given,
which asks the view `operations` and so includes the join that finds the newest generation.
"""

from __future__ import annotations

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

REPETITIONS = 5


def main() -> None:
    relation = "operations" if "--view" in sys.argv else "settled"
    for size in (int(word) for word in sys.argv[1:] if word.isdigit()):
        connection = duckdb.connect()
        connection.execute("SET threads = 2")
        store = Store(connection, size)
        query = compile_query(view_projection("tokens", Config()), relation)
        times: dict[str, list[float]] = {}
        for _ in range(REPETITIONS):
            run(connection, store, query, times)
        report = {name: round(statistics.median(row) * 1000, 1) for name, row in times.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(size, report, f"peak RSS {peak} MiB")


def run(connection, store, query, times) -> None:
    marks = [time.perf_counter()]

    def mark(name: str) -> None:
        marks.append(time.perf_counter())
        times.setdefault(name, []).append(marks[-1] - marks[-2])

    columns = list(connection.execute(query.sql, query.params).fetchnumpy().values())
    mark("query")
    profile = fold_columns(query, columns, store)
    mark("fold")
    message = pprof.encode_message(profile)
    mark("encode")
    data = pprof.encode(profile)
    mark("encode and gzip")
    times.setdefault("query, fold, encode, gzip", []).append(
        sum(times[name][-1] for name in ("query", "fold", "encode and gzip"))
    )
    times["stacks"] = [len(profile) / 1000]
    times["KB"] = [len(message) / 1e6]
    times["KB gzip"] = [len(data) / 1e6]


main()
