"""`llm` against a real llama.cpp server with a real, tiny model: protocol, not quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.segment.test_llm import lane
from tests.llama_server import serving_model

from whyflame.config import SegmentConfig
from whyflame.segment import load_segmenter, validate
from whyflame.segment.llm import LlmSegmenter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with serving_model(tmp_path / "log") as url:
        yield url


def test_a_real_model_answers(server: str) -> None:
    """Structured output is asked for and understood, tokens are accounted, marks are valid."""
    options = {
        "endpoint": server,
        "model": "smol",
        "timeout_seconds": 120,
        "max_answer_tokens": 100,
    }
    made = load_segmenter(SegmentConfig(segmenter="llm", options=options))
    assert isinstance(made, LlmSegmenter)
    marks = made.segment(lane())
    validate(lane(), marks, made.namer.tables.is_verb)
    calls = made.account.take_calls()
    assert calls
    assert all(call.input_tokens and call.output_tokens for call in calls)
    assert set(made.outcomes) <= {"model", "invalid"}
