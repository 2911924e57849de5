"""Requests lie in the journal until they are indexed and no longer, however the server ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests import otlp
from tests.serving import Serving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
TEXT = "Zanzibar, voucher 4711!"


def request(trace: int) -> bytes:
    """One model call with a text."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": TEXT}]}]
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
        "gen_ai.input.messages": json.dumps(messages),
    }  # fmt: skip
    return otlp.traces(otlp.Row("genai", "chat", attributes, trace))


def holding(data_dir: Path) -> set[str]:
    """Files with the text."""
    found = set()
    for file in data_dir.rglob("*"):
        if file.is_file() and TEXT.encode() in file.read_bytes():
            found.add(str(file.relative_to(data_dir)))
    return found


def test_a_stop_leaves_no_request(tmp_path: Path) -> None:
    """Whether all was indexed long ago, or came a moment before."""
    for trace, is_idle in ((1, True), (2, False)):
        serving = Serving(tmp_path / "d").start()
        serving.send([("traces", request(trace))])
        if is_idle:
            serving.settle()
        assert serving.stop() == 0
        assert holding(tmp_path / "d") == set()


def test_a_kill_leaves_a_request_until_the_next_start(tmp_path: Path) -> None:
    """Then it goes, though nothing new is sent."""
    serving = Serving(tmp_path / "d").start()
    serving.send([("traces", request(1))])
    serving.settle()
    serving.kill()
    assert holding(tmp_path / "d"), "else this test shows nothing"
    with Serving(tmp_path / "d"):
        wait_until(lambda: not holding(tmp_path / "d"))
