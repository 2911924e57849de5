"""Totals and sessions of every captured scenario and fault, in whatever order they arrive."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests import corpus
from tests.sums import sum_operations

from whyflame.settle.counting import count
from whyflame.settle.ledger import REASONS
from whyflame.settle.sessions import resolve_sessions

if TYPE_CHECKING:
    from whyflame.model import Operation, Span

Row = dict[str, Any]


def settle(spans: list[Span]) -> list[Operation]:
    operations = count(spans)
    resolve_sessions(operations)
    return operations


def by_session(operations: list[Operation]) -> dict[str, Row]:
    grouped: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.session_known:
            grouped.setdefault(operation.session, []).append(operation)
    return {session: sum_operations(group) for session, group in grouped.items()}


def differences(expected: Row, found: Row) -> list[str]:
    """Where two rows differ. An expected 0 is met by unknown as well: producers leave zeros out."""
    wrong = []
    for key, wanted in expected.items():
        value = found.get(key)
        if key == "sessions" or value == wanted or (wanted == 0 and value is None):
            continue
        if not (isinstance(wanted, float) and value == pytest.approx(wanted)):
            wrong.append(f"{key}: {value} instead of {wanted}")
    return wrong


@pytest.mark.parametrize("name", corpus.names())
def test_case_is_counted_exactly(name: str) -> None:
    """Totals and every session equal what the capture's author counted, unknown included."""
    case = corpus.cases()[name]
    operations = settle(corpus.read_requests(case.requests()))
    assert differences(case.expected["totals"], sum_operations(operations)) == []
    sessions = by_session(operations)
    for session, row in case.expected.get("sessions", {}).items():
        assert session in sessions
        assert differences(row, sessions[session]) == [], session
    working = {op.session for op in operations if op.session_known and op.operations}
    if "sessions" in case.expected:
        assert working <= set(case.expected["sessions"])
    assert set(case.expected["totals"].get("sessions", ())) <= set(sessions)


@pytest.mark.parametrize("name", corpus.names())
def test_every_span_that_does_not_count_says_why(name: str) -> None:
    """Not counted means a reason of the closed set; a view names the operation it is a view of."""
    spans = corpus.read_requests(corpus.cases()[name].requests())
    operations = settle(spans)
    counted = {op.span.span_key for op in operations if op.counted}
    assert [op.span for op in operations] == spans
    for operation in operations:
        assert operation.counted == (operation.why is None)
        assert operation.counted or operation.why in REASONS
        if operation.same_as is not None:
            assert not operation.counted
            assert operation.same_as in counted or operation.why == "repeated"


def scatter(requests: list[tuple[str, bytes]], seed: int) -> list[tuple[str, bytes]]:
    """The same spans and records, one a request, some twice, in random order."""
    alone: list[tuple[str, bytes]] = []
    for signal, payload in requests:
        alone += [(signal, piece) for piece in split(signal, payload)]
    shuffled = random.Random(seed)
    alone += shuffled.sample(alone, len(alone) // 3)
    shuffled.shuffle(alone)
    return alone


def split(signal: str, payload: bytes) -> list[bytes]:
    traces = signal == "traces"
    kind = ExportTraceServiceRequest if traces else ExportLogsServiceRequest
    resources, scopes, items = (
        ("resource_spans", "scope_spans", "spans")
        if traces
        else ("resource_logs", "scope_logs", "log_records")
    )
    pieces = []
    for resource in getattr(kind.FromString(payload), resources):
        for scope in getattr(resource, scopes):
            for item in getattr(scope, items):
                request = kind()
                into = getattr(request, resources).add()
                into.resource.CopyFrom(resource.resource)
                group = getattr(into, scopes).add()
                group.scope.CopyFrom(scope.scope)
                getattr(group, items).append(item)
                pieces.append(request.SerializeToString())
    return pieces


@pytest.mark.parametrize("name", corpus.names())
def test_arrival_does_not_matter(name: str) -> None:
    """Split, shuffled and repeated requests give the same rows, session by session."""
    requests = corpus.cases()[name].requests()
    plain = settle(corpus.read_requests(requests))
    mixed = settle(corpus.read_requests(scatter(requests, seed=len(name))))
    assert sum_operations(mixed) == sum_operations(plain)
    assert by_session(mixed) == by_session(plain)


@pytest.mark.parametrize("name", ["claude-code-grpc", "codex-grpc"])
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_either_signal_alone_is_enough(name: str, signal: str) -> None:
    """A coding CLI counts the same from its spans, from its events, and from both."""
    requests = corpus.cases()[name].requests()
    alone = [request for request in requests if request[0] == signal]
    both = sum_operations(settle(corpus.read_requests(requests)))
    one = sum_operations(settle(corpus.read_requests(alone)))
    assert {**one, "cost_usd": None} == {**both, "cost_usd": None}


@pytest.mark.parametrize(
    ("masked", "open_"),
    [
        ("langchain-openinference-off", "langchain-openinference-on"),
        ("langchain-langfuse-off", "langchain-langfuse-on"),
        ("langchain-openllmetry-off", "langchain-openllmetry-on"),
        ("openai-openinference-off", "openai-openinference-on"),
        ("handwritten-semconv-off", "handwritten-semconv-on"),
        ("vercel-ai6-nocontent", "vercel-ai6"),
    ],
)
def test_content_does_not_matter(masked: str, open_: str) -> None:
    """With content capture off, the same scenario gives the same rows."""
    rows = [
        by_session(settle(corpus.read_requests(corpus.cases()[name].requests())))
        for name in (masked, open_)
    ]
    assert rows[0] == rows[1]


def test_the_copy_is_the_corpus(shared: Any) -> None:
    """The compressed copy holds every case of the reference folder."""
    folders = {
        folder.name
        for part in ("scenarios", "faults")
        for folder in (shared / "corpus" / part).iterdir()
        if folder.is_dir()
    }
    assert set(corpus.reference_names()) == folders
