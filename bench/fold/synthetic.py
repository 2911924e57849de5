"""A store of synthetic operations, shaped like `specs/performance.md` section 3: Zipf paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflame.app.opening import DATABASE
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from pathlib import Path

VERBS = 40
OBJECTS = 60
MEMORY = 2 << 30


def build(folder: Path, operations: int, seed: int = 1) -> None:
    """Fill the store of a data directory with settled operations of one generation."""
    random = np.random.default_rng(seed)
    store = Store(folder / DATABASE, memory_limit=MEMORY)
    connection = store.cursor()
    paths = min(20_000, max(200, operations // 4))
    write_dictionaries(connection, random, paths)
    path = np.minimum(random.zipf(1.25, operations) - 1, 1 << 40) % paths
    leaf = 20 + np.minimum(random.zipf(1.4, operations) - 1, 1 << 40) % 52
    columns = {
        "agent": (path * 7 + random.integers(0, 3, operations)) % 20,
        "path_id": path,
        "leaf": leaf,
        "tok": np.where(leaf < 32, random.integers(1, 60_000, operations), 0),
        "self": random.integers(1_000_000, 9_000_000_000, operations),
        "at": 1_700_000_000_000_000_000 + np.arange(operations) * 1_000_000,
    }
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
    connection.execute("INSERT INTO generations SELECT DISTINCT trace_key, 1, 0, 0 FROM settled")
    connection.unregister("source")
    connection.execute("CHECKPOINT")
    store.close()


def write_dictionaries(connection, random, paths: int) -> None:
    """Agents, calls and tools; paths of two to five names each."""
    strings = [f"agent {i}" for i in range(20)] + [f"call model-{i}" for i in range(12)]
    strings += [f"run tool-{i}" for i in range(40)]
    names = [f"verb{v} object{o}" for v in range(VERBS) for o in range(OBJECTS)]
    depths = random.integers(2, 6, paths).tolist()
    rows = [[names[i] for i in random.zipf(1.3, depth) % len(names)] for depth in depths]
    connection.execute(
        "INSERT INTO strings SELECT unnest(range(?)), unnest(?::VARCHAR[])", [len(strings), strings]
    )
    connection.execute(
        "INSERT INTO paths SELECT unnest(range(?)), unnest(?::VARCHAR[][])", [len(rows), rows]
    )
