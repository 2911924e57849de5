"""A cold command on a small store must not pay for numpy, nor for DuckDB before it asks."""

from __future__ import annotations

import subprocess
import sys

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
import whyflame.app.opening
import whyflame.serve.store_questions
heavy = {"numpy", "grpc", "starlette", "yaml", "rich", "asyncio", "google.protobuf", "logging"}
# `import duckdb` takes longer than everything else together, for an API that nothing here uses.
heavy |= {"duckdb", "whyflame.segment", "whyflame.dialects"}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_question_to_a_store_imports_no_server() -> None:
    """`whyflame profile --data-dir` needs DuckDB and the fold alone."""
    done = subprocess.run(
        [sys.executable, "-c", NEEDED], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
