"""`whyflame journal --reindex`: kept requests, read again by better rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests import otlp

from whyflame.cli import main
from whyflame.journal import JournalWriter, Signal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_spans_are_renewed_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A field promoted later is filled for spans of yesterday; nothing is counted twice."""
    call = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", "team": "search",
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
    }  # fmt: skip
    writer = JournalWriter(tmp_path / "d" / "journal", "r0")
    for trace in (1, 2):
        body = otlp.traces(otlp.Row("genai", "chat", call, trace))
        writer.append(body, signal=Signal.TRACES, received_ns=otlp.T0)
    writer.close()
    config = tmp_path / "config.yaml"
    where = ["--data-dir", str(tmp_path / "d"), "--config", str(config)]
    config.write_text("journal: {retention: 1d}\n")
    assert main(["segment", *where]) == 0
    config.write_text("journal: {retention: 1d}\nfields: {team: span.team}\n")
    for _ in range(2):
        capsys.readouterr()
        assert main(["journal", "--reindex", *where]) == 0
        assert "2 requests again: 2 spans renewed, 0 added" in capsys.readouterr().out
        assert main(["totals", "--by", "team", "--format", "json", *where]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert (row["team"], row["llm_calls"], row["input_tokens"]) == ("search", 2, 20)


def test_commands_delete_no_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They need not be told the server's configuration, which says how long requests are kept."""
    data_dir, config = tmp_path / "d", tmp_path / "config.yaml"
    config.write_text("journal: {retention: 1d}\n")
    for trace in (1, 2):
        writer = JournalWriter(data_dir / "journal", "r0")
        body = otlp.traces(otlp.Row("genai", "chat", {}, trace))
        writer.append(body, signal=Signal.TRACES, received_ns=otlp.T0)
        writer.close()
        assert main(["segment", "--data-dir", str(data_dir), "--config", str(config)]) == 0
    for command in (["segment"], ["journal", "--reindex"], ["journal", "--reindex"]):
        capsys.readouterr()
        assert main([*command, "--data-dir", str(data_dir)]) == 0
    assert "read 2 requests again" in capsys.readouterr().out
