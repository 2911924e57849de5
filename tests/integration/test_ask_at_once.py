"""`segment` right after an acknowledgement settles what was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.otlp import Row, traces
from tests.serving import Serving

from whyflame.serve.remote import RemoteQuestions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
REQUESTS = 20
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.output_tokens": 1,
}


def test_segment_settles_what_was_acknowledged(tmp_path: Path) -> None:
    """The demo asks for its sums so."""
    with Serving(tmp_path / "data", {"settle": {"idle": "60s"}}) as serving:
        server = RemoteQuestions(f"http://{serving.api}")
        for number in range(1, REQUESTS + 1):
            serving.send([("traces", traces(Row("test", "chat", CHAT, trace=number)))])
            server.segment(None, None)
            (row,) = serving.totals()
            assert row["llm_calls"] == number
