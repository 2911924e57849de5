"""What a command says when a file cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.otlp import Row, traces

from whyflame.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "gpt-5",
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 2,
}


def test_a_folder_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, exit code 1."""
    capture = tmp_path / "one.traces.binpb"
    capture.write_bytes(traces(Row("test", "chat", CALL)))
    store = str(tmp_path / "store")
    assert main(["import", "--data-dir", store, str(capture)]) == 0
    capsys.readouterr()
    nowhere = str(tmp_path / "nowhere" / "out.svg")
    assert main(["profile", "--data-dir", store, "--view", "tokens", "-o", nowhere]) == 1
    told = capsys.readouterr().err
    assert told.startswith("whyflame: ")
    assert told.count("\n") == 1
