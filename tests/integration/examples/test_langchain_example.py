"""The example that newcomers follow really runs, and whyflame counts what its model answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SESSION = "under-test"


@pytest.fixture(scope="module")
def example(root: Path) -> Path:
    return root / "examples" / "langchain"


@pytest.fixture(scope="module")
def python(example: Path) -> Path:
    """An environment with the example's requirements, kept in the user's cache between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    release = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = Path(base) / "whyflame" / f"example-langchain-{release}"
    stamp = folder / "requirements.txt"
    wanted = (example / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        install(folder, example / "requirements.txt")
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def install(folder: Path, requirements: Path) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    venv.create(folder, with_pip=uv is None, clear=True)
    target = folder / "bin" / "python"
    command = [uv, "pip", "install", "--python", target] if uv else [target, "-m", "pip", "install"]
    subprocess.run([*command, "-q", "-r", requirements], check=True)


def run_agent(python: Path, example: Path, endpoint: str) -> dict[str, Any]:
    """What the model server of the example says it answered."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    # Compiled once, and not into the example's folder.
    compiled = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(python.parents[1] / "pyc"),
    }
    done = subprocess.run(
        [python, "agent.py", "--session", SESSION],
        cwd=example,
        env=environment | compiled | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def served(
    python: Path, example: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Serving, dict[str, Any]]]:
    """A collector that the example has sent to, and what its model answered."""
    with Serving(tmp_path_factory.mktemp("example") / "data") as serving:
        told = run_agent(python, example, f"http://{serving.grpc}")
        serving.settle()
        yield serving, told


def test_tokens_equal_what_the_model_answered(served: tuple[Serving, dict[str, Any]]) -> None:
    """Calls and tokens of the session are exact, and all under the id that was given."""
    serving, told = served
    (row,) = serving.totals("session")
    assert row["session"] == SESSION
    assert {key: row[key] for key in told} == told


def test_failed_tool_call_is_seen(served: tuple[Serving, dict[str, Any]]) -> None:
    """The tool that raised is the one failed operation."""
    serving, _ = served
    failed = {row["tool"]: row["tool_errors"] for row in serving.totals("tool") if row["tool"]}
    assert failed == {"read_file": 0, "edit_file": 0, "run_tests": 1}


def test_names_come_from_the_example(served: tuple[Serving, dict[str, Any]]) -> None:
    """Service, version, environment and agent are the ones that the code states."""
    serving, _ = served
    (row,) = serving.totals("service,version,environment,agent")
    found = [row[key] for key in ("service", "version", "environment", "agent")]
    assert found == ["langchain-example", "1.0.0", "development", "coder"]
