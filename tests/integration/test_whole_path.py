"""From OTLP requests over gRPC to exact totals, files and pushed profiles."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.built import go_pprof
from tests.doubles.pyroscope import Double
from tests.serving import Serving, captures, differences, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SCENARIOS = (
    "langchain-openinference-on",
    "langchain-openinference-grpc",
    "langchain-openllmetry-on",
    "langchain-langfuse-on",
    "handwritten-semconv-on",
    "openai-openinference-on",
)


def _expected(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "expected.json").read_text())


def _check(serving: Serving, expected: dict[str, Any]) -> None:
    serving.settle()
    (row,) = serving.totals()
    assert differences(row, expected["totals"]) == {}
    rows = {row["session"]: row for row in serving.totals("session")}
    for session, sums in expected["sessions"].items():
        assert differences(rows[session], sums) == {}, session


@pytest.mark.parametrize("name", SCENARIOS)
def test_totals_equal_what_was_sent(shared: Path, tmp_path: Path, name: str) -> None:
    """Totals and every session are exact; twice and in another order changes nothing."""
    folder = shared / "corpus" / "scenarios" / name
    expected, bodies = _expected(folder), captures(folder)
    with Serving(tmp_path / "first") as serving:
        serving.send(bodies)
        _check(serving, expected)
        serving.send(bodies)
        _check(serving, expected)
    with Serving(tmp_path / "second") as serving:
        shuffled = random.Random(7).sample(bodies, len(bodies))
        serving.send(shuffled)
        _check(serving, expected)


def test_pushed_profiles_add_up(shared: Path, tmp_path: Path) -> None:
    """Per measure, the sum over all pushed series equals the totals."""
    folder = shared / "corpus" / "scenarios" / SCENARIOS[0]
    with Double() as double:
        settings = {"exporters": {"p": {"type": "pyroscope", "url": double.url, "late": "restamp"}}}
        with Serving(tmp_path / "d", settings) as serving:
            serving.send(captures(folder))
            serving.settle()
            (row,) = serving.totals()
            calls = row["llm_calls"] + row["embedding_calls"] + row["tool_calls"]
            wait_until(lambda: double.sums().get("operations") == calls, 60)
            sums = double.sums()
    assert sums["tokens"] == row["input_tokens"] + row["output_tokens"]
    assert sums["duration"] == round(row["duration_seconds"] * 1e9)
    # Whole micro-USD are pushed; what is left of each series is carried to its next profile.
    assert 0 <= row["cost_usd"] * 1e6 - sums["cost"] < 20
    assert set(double.statuses) == {200}


def test_pprof_agrees_with_totals(shared: Path, tmp_path: Path) -> None:
    """`go tool pprof` reads the file and finds the same tokens."""
    folder = shared / "corpus" / "scenarios" / SCENARIOS[0]
    with Serving(tmp_path / "d") as serving:
        serving.send(captures(folder))
        serving.settle()
        (row,) = serving.totals()
        file = tmp_path / "tokens.pb.gz"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "whyflame",
                "profile",
                "--url",
                f"http://{serving.api}",
                "--view",
                "tokens",
                "-o",
                file,
            ],
            check=True,
            capture_output=True,
        )
    printed = subprocess.run(
        [go_pprof(), "-top", "-unit=count", str(file)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    tokens = row["input_tokens"] + row["output_tokens"]
    assert f"of {tokens} total" in printed or f"{tokens}, 100%" in printed


def test_page_and_health(shared: Path, tmp_path: Path) -> None:
    """The page is served, a standalone flame graph of the newest data too."""
    folder = shared / "corpus" / "scenarios" / SCENARIOS[0]
    with Serving(tmp_path / "d") as serving:
        assert "whyflame" in serving.text("/")
        assert serving.text("/healthz") == "ok\n"
        assert serving.text("/readyz") == "ready\n"
        serving.send(captures(folder))
        serving.settle()
        graph = serving.text("/api/v1/profile?format=svg")
        assert "<svg" in graph
        assert "call gpt-4.1-mini" in graph
        metrics = serving.text("/metrics")
        assert "whyflame_indexed_spans_total" in metrics
        assert re.search(r"^whyflame_disk_free_bytes [1-9]", metrics, re.MULTILINE)
