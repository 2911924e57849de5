"""docs/instrumenting.md is true: its programs run as they stand and are counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

AGENT = """
from opentelemetry import trace
class agent:
    def run():
        with trace.get_tracer("mine").start_as_current_span("chat gpt-5") as call:
            call.set_attribute("gen_ai.operation.name", "chat")
            call.set_attribute("gen_ai.request.model", "gpt-5")
            call.set_attribute("gen_ai.usage.input_tokens", 7)
            call.set_attribute("gen_ai.usage.output_tokens", 2)
"""


@pytest.fixture(scope="module")
def programs(root: Path) -> list[str]:
    text = (root / "docs" / "instrumenting.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "d") as running:
        yield running


def run(program: str, serving: Serving) -> None:
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{serving.grpc}"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    serving.settle()


def test_an_agent_that_makes_its_own_spans(programs: list[str], serving: Serving) -> None:
    run(programs[0], serving)
    rows = serving.totals("session,agent,service,outcome")
    (row,) = [row for row in rows if row["session"] == "ticket-4711"]
    assert (row["agent"], row["service"], row["outcome"]) == ("triage", "support", "success")
    assert (row["input_tokens"], row["output_tokens"], row["tool_calls"]) == (1200, 90, 1)
    assert row["cost_usd"]


def test_whyflame_beside_an_agent(programs: list[str], serving: Serving) -> None:
    run(AGENT + programs[1].replace("localhost:4317", serving.grpc), serving)
    (row,) = serving.totals("session,root,user_hash")
    assert (row["session"], row["root"]) == ("ticket-4711", "refund customer")
    assert row["user_hash"] not in {None, "ada"}
    assert (row["input_tokens"], row["output_tokens"]) == (7, 2)
