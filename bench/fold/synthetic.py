"""A store of synthetic operations, shaped like `specs/performance.md` section 3: Zipf paths."""

from __future__ import annotations

import numpy as np

from whyflame.store.schema import TABLES, VIEWS

VERBS = 40
OBJECTS = 60


class Store:
    """Dictionary tables in memory, operations in DuckDB."""

    def __init__(self, connection, operations: int, seed: int = 1) -> None:
        self.connection = connection
        random = np.random.default_rng(seed)
        count = min(20_000, max(200, operations // 4))
        self._strings = [f"agent {i}" for i in range(20)] + [f"call model-{i}" for i in range(12)]
        self._strings += [f"run tool-{i}" for i in range(40)]
        names = [f"verb{v} object{o}" for v in range(VERBS) for o in range(OBJECTS)]
        depth = random.integers(2, 6, count)
        self._paths = [
            tuple(names[i] for i in random.zipf(1.3, d) % len(names)) for d in depth.tolist()
        ]
        path = np.minimum(random.zipf(1.25, operations) - 1, 1 << 40) % count
        leaf = 20 + np.minimum(random.zipf(1.4, operations) - 1, 1 << 40) % 52
        columns = {
            "agent": (path * 7 + random.integers(0, 3, operations)) % 20,
            "path_id": path,
            "leaf": leaf,
            "tok": np.where(leaf < 32, random.integers(1, 60_000, operations), 0),
            "self": random.integers(1_000_000, 9_000_000_000, operations),
            "at": 1_700_000_000_000_000_000 + np.arange(operations) * 1_000_000,
        }
        connection.execute(TABLES)
        connection.execute(VIEWS)
        connection.register("source", columns)
        connection.execute(
            """INSERT INTO settled BY NAME
            SELECT row_number() OVER () AS span_key, row_number() OVER () // 20 AS trace_key,
                1 AS generation, TRUE AS counted, agent::INTEGER AS agent,
                path_id::INTEGER AS path_id, leaf::INTEGER AS leaf,
                "at" AS start_ns, "at" + self AS end_ns, self AS self_ns, self AS wall_ns,
                CASE WHEN tok > 0 THEN tok // 2 END AS input_uncached,
                CASE WHEN tok > 0 THEN tok // 4 END AS cache_read,
                CASE WHEN tok > 0 THEN tok // 8 END AS output_visible,
                CASE WHEN tok > 0 THEN tok * 2500 END AS cost_nanousd,
                1 AS operations, 0 AS errors FROM source"""
        )
        connection.execute(
            "INSERT INTO generations SELECT DISTINCT trace_key, 1, 0, 0 FROM settled"
        )
        connection.unregister("source")

    def strings(self, ids):
        return {number: self._strings[number] for number in ids}

    def paths(self, ids):
        return {number: self._paths[number] for number in ids}
