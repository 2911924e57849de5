"""The example that newcomers follow really runs, and sends what its model answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Collector(TraceServiceServicer):
    """Keeps every request."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []

    def Export(self, request: ExportTraceServiceRequest, context: object) -> Any:  # noqa: N802 - gRPC's
        del context
        self.requests.append(request)
        return ExportTraceServiceResponse()

    def spans(self) -> Iterator[tuple[Span, dict[str, Any]]]:
        for request in self.requests:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        yield span, {pair.key: pair.value for pair in span.attributes}


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    server = grpc.server(ThreadPoolExecutor(2))
    collector = Collector()
    add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield collector, f"http://127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture(scope="session")
def example(root: Path) -> Path:
    return root / "examples" / "langchain"


@pytest.fixture(scope="session")
def python(example: Path) -> Path:
    """An environment with the example's requirements, kept in the user's cache between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = (
        Path(base) / "whyflame" / f"example-langchain-{sys.version_info[0]}{sys.version_info[1]}"
    )
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


def run(python: Path, example: Path, endpoint: str) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    done = subprocess.run(
        [python, "agent.py", "--session", "under-test"],
        cwd=example,
        env=environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_example_sends_what_its_model_answered(
    python: Path, example: Path, collector: tuple[Collector, str]
) -> None:
    """Calls and tokens in the telemetry equal what the scripted model says it answered."""
    received, endpoint = collector
    told = run(python, example, endpoint)
    calls = [
        attributes
        for _, attributes in received.spans()
        if attributes["openinference.span.kind"].string_value == "LLM"
    ]
    assert len(calls) == told["llm_calls"]
    assert sum(c["llm.token_count.prompt"].int_value for c in calls) == told["input_tokens"]
    assert sum(c["llm.token_count.completion"].int_value for c in calls) == told["output_tokens"]


def test_the_example_names_session_agent_outcome_and_failure(
    python: Path, example: Path, collector: tuple[Collector, str]
) -> None:
    """Every span carries the session; roots say how they ended; the failed tool call is an error."""
    received, endpoint = collector
    run(python, example, endpoint)
    spans = list(received.spans())
    assert {attributes["session.id"].string_value for _, attributes in spans} == {"under-test"}
    outcomes = [a["whyflame.outcome"].string_value for s, a in spans if not s.parent_span_id]
    assert sorted(outcomes) == ["failure", "success"]
    failed = [s.name for s, _ in spans if s.status.code == Status.STATUS_CODE_ERROR]
    assert failed == ["run_tests"]
