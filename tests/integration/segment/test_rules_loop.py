"""The loop that improves rules, as a user runs it on stored sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from tests.integration.segment.test_own_calls import run_of

from whyflame.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_changed_rules_are_used_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is unmatched is shown with its kind; a rule for it matches the next time."""
    (tmp_path / "runs.binpb").write_bytes(run_of("alpha"))
    config, store = tmp_path / "c.yaml", str(tmp_path / "d")
    assert main(["import", str(tmp_path / "runs.binpb"), "--data-dir", store]) == 0

    def run(*rules: str) -> str:
        config.write_text(yaml.safe_dump({"segment": {"options": {"rules": list(rules)}}}))
        words = ["segment", "--segmenter", "rules", "--config", str(config), "--data-dir", store]
        assert main(words) == 0
        return capsys.readouterr().out

    said = run("session:find cause=potato")
    assert "rules 100.0% of the texts unmatched" in said
    assert "unmatched llm: look" in said
    said = run("session:fix login=fix", "llm:inspect code=look")
    assert "rules 0.0% of the texts unmatched" in said
    assert "unmatched llm" not in said
    words = ["totals", "--by", "root,path", "--where", "kind=llm", "--format", "csv"]
    assert main([*words, "--data-dir", store]) == 0
    assert "fix login,inspect code" in capsys.readouterr().out.replace('"', "")


def test_a_model_that_is_not_asked_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was kept that it could be shown: the names are those of `auto`, and that is said."""
    (tmp_path / "runs.binpb").write_bytes(run_of("alpha"))
    store = str(tmp_path / "d")
    assert main(["import", str(tmp_path / "runs.binpb"), "--data-dir", store]) == 0
    assert main(["segment", "--segmenter", "llm", "--data-dir", store]) == 0
    said = capsys.readouterr().out
    assert "0 lanes marked by the model\n ! 1 lane left to auto: no excerpts" in said


def test_other_segmenters_say_nothing_of_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs.binpb").write_bytes(run_of("alpha"))
    store = str(tmp_path / "d")
    assert main(["import", str(tmp_path / "runs.binpb"), "--data-dir", store]) == 0
    assert main(["segment", "--segmenter", "recurrence", "--data-dir", store]) == 0
    assert "rules" not in capsys.readouterr().out
