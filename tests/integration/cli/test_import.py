"""What `whyflame import` says it did, and what coverage says after it was done again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests import otlp

from whyflame.cli import main

if TYPE_CHECKING:
    from pathlib import Path

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}
METRICS = {
    "resourceMetrics": [
        {"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": [{"asInt": "1"}]}}]}]}
    ]
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model call, two web requests, a metric, a request that no dialect can read, and others."""
    found = tmp_path / "found"
    found.mkdir()
    body = otlp.traces(
        otlp.Row("opentelemetry.instrumentation.openai_v2", "chat gpt-5", CALL, trace=1),
        *(otlp.Row("web", "GET /", trace=2, id=number) for number in (1, 2)),
    )
    (found / "a.traces.binpb").write_bytes(body)
    (found / "b.metrics.json").write_text(json.dumps(METRICS))
    (found / "c.json").write_text('{"totals": 1}')
    (found / "d.jsonl").write_text('{"hello": "world"}\n')
    (found / "e.txt").write_text("notes")
    return found


def counters(store: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["totals", "--format", "json", "--data-dir", str(store)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["coverage"]["counters"]
    return found


def test_what_is_imported_again_is_known_and_counts_nowhere_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Web requests are dropped each time, and are neither new nor counted the second time."""
    store = tmp_path / "store"
    said, counted = [], []
    for _ in range(2):
        assert main(["import", str(folder / "a.traces.binpb"), "--data-dir", str(store)]) == 0
        said.append(capsys.readouterr().err.strip())
        counted.append(counters(store, capsys))
    assert said == [
        "imported 1 request: 1 new span, 0 known already; 2 more without agent work, not kept",
        "imported 1 request: 0 new spans, 3 known already",
    ]
    assert counted == [{"dropped_spans": {"not_agent_work": 2}}] * 2


def test_unreadable_requests_imported_again_count_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that no dialect can read is kept aside once."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("content")

    monkeypatch.setattr("whyflame.dialects.Reader.read_traces", fail)
    (tmp_path / "traces.binpb").write_bytes(otlp.traces(otlp.Row("web", "GET /")))
    for _ in range(2):
        words = ["import", str(tmp_path / "traces.binpb"), "--data-dir", str(tmp_path / "store")]
        assert main(words) == 0
    assert counters(tmp_path / "store", capsys) == {"dead_letters": {"unreadable": 1}}


def test_a_folder_tells_what_it_passed_over_and_why(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(folder), "--data-dir", str(tmp_path / "store")]) == 0
    said = capsys.readouterr().err
    assert f"passed over {folder}/c.json: no OTLP request" in said
    assert f"passed over {folder}/d.jsonl: its first entry is of no known kind" in said
    assert "passed over 1 file of other names than .binpb" in said
    assert "; 1 of metrics, not stored" in said
    assert counters(tmp_path / "store", capsys) == {"dropped_spans": {"not_agent_work": 2}}


def test_a_folder_with_many_unknown_files_names_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.json").write_text("{}")
    assert main(["import", str(tmp_path), "--data-dir", str(tmp_path / "store")]) == 3
    said = capsys.readouterr().err
    assert said.count("no OTLP request") == 10
    assert "passed over 20 more" in said


@pytest.mark.parametrize("name", ["notes.txt", "c.json", "metrics.json"])
def test_nothing_to_import_is_an_exit_code_and_makes_no_store(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong folder shows in a script."""
    found = tmp_path / "found"
    found.mkdir()
    (found / name).write_text(json.dumps(METRICS) if name == "metrics.json" else "{}")
    store = tmp_path / "store"
    assert main(["import", str(found), "--data-dir", str(store)]) == 3
    said = capsys.readouterr().err
    assert f"nothing to import in {found}" in said
    assert "Claude Code" in said
    assert not store.exists()


def test_a_path_that_is_not_there_shows_before_anything_is_done(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert main(["import", str(folder), str(tmp_path / "none"), "--data-dir", str(store)]) == 1
    assert capsys.readouterr().err == f"whyflame: {tmp_path}/none: No such file or directory\n"
    assert not store.exists()
