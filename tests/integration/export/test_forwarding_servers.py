"""One whyflame forwards to another, which is away at first, and the first one is killed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from tests import corpus
from tests.serving import Serving, differences, wait_until

from whyflame.journal import pending_bytes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SCENARIO = "langchain-openinference-on"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def forwarding_to(port: int, **options: Any) -> dict[str, Any]:
    block = {"type": "forward", "url": f"http://127.0.0.1:{port}", **options}
    return {"exporters": {"peer": block}}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_outage_kill_and_restart_lose_nothing(tmp_path: Path, protocol: str) -> None:
    """The peer's totals are those of what was acknowledged, whoever was away when."""
    case = corpus.cases()[SCENARIO]
    port = free_port()
    settings = {"otlp": {protocol: f"127.0.0.1:{port}"}}
    first = Serving(tmp_path / "first", forwarding_to(port, protocol=protocol)).start()
    try:
        first.send(case.requests())
        wait_until(lambda: first.pending() == 0)
        first.kill()
        assert pending_bytes(tmp_path / "first" / "forward" / "peer" / "traces") > 0
        with Serving(tmp_path / "second", settings) as second:
            first.start()
            spool = tmp_path / "first" / "forward" / "peer" / "traces"
            wait_until(lambda: pending_bytes(spool) == 0, 100)
            for serving in (first, second):
                serving.settle()
                (row,) = serving.totals()
                assert differences(row, case.expected["totals"]) == {}
        assert first.stop() == 0
    finally:
        first.stop()
