"""Capture files of every form give the requests they hold, or a clear reason."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.errors import PermanentError
from whyflame.importers import read_captures
from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from pathlib import Path

SPAN = {"traceId": "0a" * 16, "spanId": "0b" * 8, "name": "chat"}
TRACES = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "5"}]}]}]}


def traces_body() -> bytes:
    message = request_class(Signal.TRACES)()
    scope = message.resource_spans.add().scope_spans.add()
    scope.spans.add(name="chat", trace_id=b"\x0a" * 16, span_id=b"\x0b" * 8)
    return bytes(message.SerializeToString())


def logs_body() -> bytes:
    message = request_class(Signal.LOGS)()
    message.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5)
    return bytes(message.SerializeToString())


def metrics_body() -> bytes:
    message = request_class(Signal.METRICS)()
    metric = message.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    metric.gauge.data_points.add(as_int=1)
    return bytes(message.SerializeToString())


def read(*paths: Path) -> list[tuple[str, bytes]]:
    return list(read_captures(paths))


@pytest.mark.parametrize("name", ["001-traces-grpc.binpb", "x.traces.http.binpb", "plain.binpb"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_protobuf_files(tmp_path: Path, name: str, packed: bool) -> None:
    """The name tells the signal, else the content does."""
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(traces_body()) if packed else traces_body())
    assert read(path) == [("traces", traces_body())]


def test_the_signal_of_unnamed_protobuf_is_detected(tmp_path: Path) -> None:
    """Traces, logs and metrics differ in what their records hold."""
    bodies = {"traces": traces_body(), "logs": logs_body(), "metrics": metrics_body()}
    for signal, body in bodies.items():
        path = tmp_path / f"{signal[0]}.binpb"
        path.write_bytes(body)
        assert read(path) == [(signal, body)]


def test_json_files(tmp_path: Path) -> None:
    """One request, a list of them, or one a line; the keys tell the signal."""
    files: dict[str, Any] = {
        "a.json": json.dumps(TRACES, indent=1),
        "b.json": json.dumps([TRACES, LOGS]),
        "c.jsonl": f"{json.dumps(LOGS)}\n\n{json.dumps(TRACES)}\n",
        "d.json": json.dumps(TRACES | LOGS),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(json.dumps(TRACES).encode()))
    both = {"traces": traces_body(), "logs": logs_body()}
    found = [signal for signal, body in read(tmp_path) if body == both[signal]]
    assert found == ["traces", "traces", "logs", "logs", "traces", "traces", "logs", "traces"]


def test_directories_are_walked_in_order(tmp_path: Path) -> None:
    """Sorted by path; files of other kinds and JSON of other sorts are passed over."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "traces.binpb").write_bytes(traces_body())
    (tmp_path / "a-logs.binpb").write_bytes(logs_body())
    (tmp_path / "expected.json").write_text('{"totals": {}}')
    (tmp_path / "tree.txt").write_text("x")
    assert [signal for signal, _ in read(tmp_path)] == ["logs", "traces"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("traces.binpb", b"\xff\xff", "not an OTLP traces request"),
        ("unknown.binpb", b"", "cannot tell the signal"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b"7", "no OTLP request"),
        ("a.json", b'{"totals": 1}', "no OTLP request"),
        ("a.jsonl", b'{"resourceSpans": []}\n{"resourceSpans": 7}\n', "line 2: malformed"),
        ("a.json.gz", b"not gzip", "gzip"),
        ("a.json.gz", gzip.compress(b"{}" * 1000)[:-9], "end-of-stream"),
        ("a.txt", b"", "expected .binpb"),
    ],
    ids=range(9),
)
def test_errors_name_the_file_and_the_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    """A user sees at once which file is wrong and why."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(PermanentError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    """No trace, one line."""
    for name in ("absent.json", "absent"):
        with pytest.raises(PermanentError, match=rf"{name}: No such file"):
            read(tmp_path / name)


def test_the_whole_corpus_is_read(shared: Path) -> None:
    """Every captured request is found, in order of arrival."""
    found = read(shared / "corpus")
    names = [path.name for path in (shared / "corpus").rglob("*")]
    assert len(found) == sum(name.endswith((".binpb", ".otlp.json")) for name in names)
