"""How soon a finished session is in Pyroscope with default settings.

It waits for most of a minute, so it is a module of its own: another worker runs the other paths.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.doubles.pyroscope import Double
from tests.serving import Serving, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

# The second has spans whose parents never arrive: nothing tells that its sessions are over.
SCENARIOS = ("langchain-openinference-on", "handwritten-semconv-on")


def test_finished_session_is_pushed_within_a_minute(shared: Path, tmp_path: Path) -> None:
    """With default settings, from the last span sent to its profile in Pyroscope."""
    folders = [shared / "corpus" / "scenarios" / name for name in SCENARIOS]
    with Double() as double:
        settings = {
            "settle": {"idle": "30s"},
            "segment": {"interval": "15s"},
            "exporters": {"pyroscope": {"type": "pyroscope", "url": double.url}},
        }
        with Serving(tmp_path / "d", settings) as serving:
            whole = 0
            for folder in folders:
                sent = [sys.executable, "-m", "whyflame", "send", str(folder), "--shift-to", "now"]
                subprocess.run([*sent, "--endpoint", serving.grpc], check=True, capture_output=True)
                tokens = json.loads((folder / "expected.json").read_text())["totals"]
                whole += tokens["input_tokens"] + tokens["output_tokens"]
            wait_until(lambda: double.sums().get("tokens") == whole, 60)
    assert set(double.statuses) == {200}
