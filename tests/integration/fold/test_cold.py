"""A cold command on a small store must not pay for numpy, nor for DuckDB before it asks."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from whyflame.app.opening import DATABASE
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from pathlib import Path

COLD = """
import sys
from whyflame.fold.encode import encode_by_name
from whyflame.fold.fold import fold_rows
from whyflame.fold.projection import compile_query, make_projection

class Tables:
    def strings(self, ids):
        return {number: "coder" for number in ids}
    def paths(self, ids):
        return {number: ("fix login",) for number in ids}

query = compile_query(make_projection(["agent", "path"]))
profile = fold_rows(query, [(0, 0, 1, 1500, 3, 4)], Tables())
for name in ("pprof", "folded", "json", "speedscope"):
    assert encode_by_name(profile, name)
print(sorted({"numpy", "duckdb", "grpc"} & set(sys.modules)))
assert b"fix login" in encode_by_name(profile, "svg")
"""


def test_small_profiles_are_written_without_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLD], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


NEEDED = """
import sys
from whyflame.cli import main
assert main(["profile", "--data-dir", sys.argv[1], "-o", sys.argv[1] + "/p.pb.gz"]) == 3
heavy = {"numpy", "grpc", "starlette", "yaml", "rich", "asyncio", "google.protobuf", "logging"}
# `import duckdb` takes longer than everything else together, for an API that nothing here uses.
heavy |= {"duckdb", "whyflame.segment", "whyflame.dialects", "json"}
# Of the configuration there is only what questions look at, and no record of a span.
heavy |= {"whyflame.config.sections", "whyflame.config.reading", "whyflame.model"}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_question_to_a_store_imports_no_server(tmp_path: Path) -> None:
    """`whyflame profile --data-dir` needs DuckDB and the fold alone."""
    Store(tmp_path / DATABASE).close()
    # Coverage starts in every process that has its variables, and imports modules of its own.
    alone = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", NEEDED, str(tmp_path)],
        env=alone,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
