"""`python -m tests.doubles.pyroscope`, as somebody would start it in a clone."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import httpx
import pytest
from tests.doubles.pyroscope.server import PUSH_PATH
from tests.integration.doubles.messages import profile, push_body

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow


@pytest.fixture
def address() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.doubles.pyroscope", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[2].removeprefix("http://")
        process.send_signal(signal.SIGINT)
        assert "stopped" in process.stdout.read()


def test_it_takes_pushes_and_shows_what_arrived(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        channel.unary_unary(PUSH_PATH)(push_body(profile()), timeout=20)
    with httpx.Client(base_url=f"http://{address}", trust_env=False) as client:
        assert client.get("/ready").status_code == 200
        assert client.get("/double/state").json()["sums"]["tokens"] == 8
        assert client.get("/double/stacks/tokens").text.endswith(" 4\n")
        assert client.post("/double/compact").json() == {"removed": 0}
