"""Plays all agents, rewrites what arrived, and packs it."""

from __future__ import annotations

import json
import lzma
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clock import SECOND, Durations, Recorded, Stretch, rewrite
from figures import manifest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from scrub import scrub_resource, scrub_span
from sink import Sink
from worker import TASKS, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.trace.v1.trace_pb2 import Span
    from plan import Session

BEGIN = 1_793_610_000 * SECOND  # a fixed morning; `whyflame demo` shifts it
SETTINGS = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
    "TRACELOOP_METRICS_ENABLED": "false",
    "TRACELOOP_TELEMETRY": "false",
    # A long conversation is more than 128 attributes in OpenInference; without room the oldest
    # ones, the token counts among them, are lost.
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "4096",
    "OPENINFERENCE_HIDE_LLM_TOOLS": "true",
    "OPENINFERENCE_HIDE_LLM_INVOCATION_PARAMETERS": "true",
}
CODER_SETTINGS = {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "1000"}
SESSION_KEYS = (
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
)
PACKAGES = (
    "langchain", "langgraph", "langchain-openai", "openai", "langfuse", "traceloop-sdk",
    "openinference-instrumentation-langchain", "opentelemetry-instrumentation-genai-openai",
    "opentelemetry-instrumentation-openai", "opentelemetry-sdk",
)  # fmt: skip
Records = dict[str, list[dict[str, Any]]]


def record(*, seed: str, minutes: float, limit: int, output: Path) -> None:
    """Make the recording and write `fleet.otlp.xz` and `manifest.json` into `output`."""
    sink = Sink()
    truth: Records = {"calls": [], "tools": [], "sessions": []}
    bodies: list[bytes] = []
    for agent in TASKS:
        for group in _groups(agent, seed, limit):
            found = _play(agent, group, seed, sink)
            for key in truth:
                truth[key] += found[key]
            bodies += sink.take()
            print(f"{agent}: {len(group)} sessions, {len(bodies)} requests so far", flush=True)
    sink.close()
    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    _set_times(requests, truth, minutes, seed)
    _write(requests, truth, output)


def _groups(agent: str, seed: str, limit: int) -> Iterator[list[Session]]:
    """Sessions that one process plays: same version and environment, two instances of coder."""
    groups: dict[tuple[str, str, int], list[Session]] = defaultdict(list)
    sessions = planned(agent, seed)
    for number, session in enumerate(
        sessions[:: max(len(sessions) // limit, 1)] if limit else sessions
    ):
        groups[session.version, session.environment, number % 2 if agent == "coder" else 0].append(
            session
        )
    yield from groups.values()


def _play(agent: str, group: list[Session], seed: str, sink: Sink) -> Records:
    grpc_endpoint, http_endpoint = (
        f"127.0.0.1:{sink.grpc_port}",
        f"http://127.0.0.1:{sink.http_port}",
    )
    endpoint = {"researcher": f"{http_endpoint}/v1/traces", "writer": http_endpoint}.get(
        agent, grpc_endpoint
    )
    first = group[0]
    resource = {
        "service.version": first.version,
        "service.instance.id": f"{agent}-{first.id[-4:]}",
        "deployment.environment.name": first.environment,
    }
    settings = SETTINGS | (CODER_SETTINGS if agent == "coder" else {})
    settings |= {
        "OTEL_SERVICE_NAME": agent,
        "OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{key}={value}" for key, value in resource.items()),
    }
    with tempfile.TemporaryDirectory() as folder:
        truth = Path(folder) / "truth.json"
        command = [
            sys.executable,
            Path(__file__).with_name("worker.py"),
            agent,
            "--seed",
            seed,
            "--endpoint",
            endpoint,
        ]
        command += ["--ids", ",".join(session.id for session in group), "--truth", truth]
        subprocess.run(command, env=os.environ | settings, check=True, stdout=subprocess.DEVNULL)
        records: Records = json.loads(truth.read_text())
    return records


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def _recorded(requests: list[ExportTraceServiceRequest]) -> dict[str, Recorded]:
    """All spans by session; a trace belongs to the session any of its spans names."""
    session_of: dict[bytes, str] = {}
    for request in requests:
        for span in _spans(request):
            for pair in span.attributes:
                if pair.key in SESSION_KEYS:
                    session_of.setdefault(span.trace_id, pair.value.string_value)
    recorded: dict[str, Recorded] = {}
    for request in requests:
        for span in _spans(request):
            session = session_of[span.trace_id]
            recorded.setdefault(session, Recorded(session)).spans.append(span)
    return recorded


def _set_times(
    requests: list[ExportTraceServiceRequest], truth: Records, minutes: float, seed: str
) -> None:
    window = int(minutes * 60 * SECOND)
    for session, recorded in _recorded(requests).items():
        calls = [call for call in truth["calls"] if call["session"] == session]
        tools = [tool for tool in truth["tools"] if tool["session"] == session]
        pauses = next(s["pauses"] for s in truth["sessions"] if s["session"] == session)
        stretch = Stretch(recorded, Durations(session, calls, tools), pauses)
        room = max(window - stretch.length, 0)
        begin = BEGIN + int(random.Random(f"{seed}:{session}").random() * room)
        for span in recorded.spans:
            rewrite(span, stretch, begin)


def _write(requests: list[ExportTraceServiceRequest], truth: Records, output: Path) -> None:
    for request in requests:
        for resource in request.resource_spans:
            scrub_resource(resource.resource)
        for span in _spans(request):
            scrub_span(span)
    requests.sort(key=lambda request: max(span.end_time_unix_nano for span in _spans(request)))
    bodies = [request.SerializeToString() for request in requests]
    raw = b"".join(struct.pack(">BI", 0, len(body)) + body for body in bodies)
    output.mkdir(parents=True, exist_ok=True)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 64 << 20}]
    (output / "fleet.otlp.xz").write_bytes(lzma.compress(raw, filters=filters))
    found = manifest(truth["calls"], truth["tools"], truth["sessions"])
    spans = [span for request in requests for span in _spans(request)]
    found["recording"] = {
        "requests": len(requests),
        "spans": len(spans),
        "bytes": sum(map(len, bodies)),
        "sessions": len(truth["sessions"]),
        "begin_ns": min(span.start_time_unix_nano for span in spans),
        "end_ns": max(span.end_time_unix_nano for span in spans),
        "packages": {name: metadata.version(name) for name in PACKAGES},
    }
    (output / "manifest.json").write_text(_readable(found))


def _readable(found: dict[str, Any]) -> str:
    """JSON with one line for each row, so that a change of the recording can be read."""
    parts = []
    for name, value in found.items():
        rows = [f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in value.items()]
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
