"""`whyflame eval` on small files."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.cli import build_parser, main
from whyflame.config import SegmentConfig
from whyflame.segment import load_segmenter
from whyflame.segment.evaluation import evaluate_file
from whyflame.segment.trajectories import lane_of

if TYPE_CHECKING:
    from pathlib import Path


def trajectory(number: int, **fields: Any) -> dict[str, Any]:
    steps = [
        {"i": i, "kind": "tool", "actor": "coder", "action": tool, "action_detail": detail,
         "text": text, "result": None, "status": status}
        for i, (tool, detail, text, status) in enumerate([
            ("Read", "a.py", "Let me look at the code", "ok"),
            ("Read", "b.py", "", "ok"),
            ("Bash", "pytest", "Now run the tests", "error"),
            ("Edit", "a.py", "Fix the error in the code", "ok"),
        ])
    ]  # fmt: skip
    gold = {"partition": [0, 0, 1, 2], "names": ["Read the code", "Run tests", "Fix code"],
            "outer": [0, 0, 1, 1], "coarse": [0, 0, 0, 1]}  # fmt: skip
    return {"id": f"t{number}", "task": "Repair the thing", "task_key": f"k{number}", "steps": steps,
            "gold": gold, **fields}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl.gz"
    rows = [trajectory(n) for n in range(6)]
    rows += [trajectory(7, gold={"partition": [None] * 4}), trajectory(8, scorable=False)]
    with gzip.open(path, "wt") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.mark.parametrize("segmenter", ["auto", "recurrence"])
@pytest.mark.parametrize("gold", ["partition", "outer", "coarse"])
def test_scores(file: Path, segmenter: str, gold: str) -> None:
    """Annotated trajectories are scored, all are predicted."""
    result = evaluate_file(file, load_segmenter(SegmentConfig(), segmenter), gold)
    assert result.scores["trajectories"] == 6
    assert result.skipped == 1
    assert len(result.predictions) == 8
    assert all(len(p["partition"]) == len(p["paths"]) == 4 for p in result.predictions)
    assert bool(result.names) == (gold == "partition")


def test_command(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Table, JSON and predictions."""
    out = tmp_path / "out.jsonl"
    assert main(["eval", str(file), "--predictions", str(out)]) == 0
    assert "runs" in capsys.readouterr().out
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(lines[0]) == {"id", "partition", "paths"}
    assert main(["eval", str(file), "--format", "json", "--blank-text"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][str(file)]["scores"]["steps"] == 24


def test_rules_show_their_coverage(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unmatched share, warnings and samples, for the loop that improves rules."""
    config = tmp_path / "config.yaml"
    config.write_text('segment: {segmenter: rules, options: {rules: ["tool:test code=pytest"]}}')
    assert main(["eval", str(file), "--segmenter", "rules", "--config", str(config)]) == 0
    out = capsys.readouterr().out
    assert "of the texts unmatched" in out
    assert "! " in out


def test_wrong_files_are_usage_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"steps": [{"nothing": 1}]}\n')
    assert main(["eval", str(path)]) == 2
    assert main(["eval", str(tmp_path / "none")]) == 2
    assert main(["eval", str(path), "--option", "x"]) == 2
    assert "not annotated" in capsys.readouterr().err
    assert build_parser()


def test_forbidden_fields_change_nothing() -> None:
    """Times, message numbers, labels, outcomes and gold never reach a segmenter."""
    plain = trajectory(1)
    loud = trajectory(1, outcome={"resolved": True}, totals={"x": 1})
    for at, record in enumerate(loud["steps"]):
        record.update(ts=at * 1e9, ts_end=5, msg=at, label="secret", tokens=7)
    assert lane_of(plain).sha256() == lane_of(loud).sha256()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "line 2 is not JSON"),
        ("[]", "line 2 is no object with a list `steps`"),
        ('{"steps": 1}', "line 2 is no object with a list `steps`"),
        ('{"steps": [{}]}', "line 2, step 0: needs `kind`"),
        ('{"steps": [{"kind": "llm"}, {"kind": "tool"}]}', "line 2, step 1: a tool needs `action`"),
    ],
)
def test_a_wrong_file_is_told_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text('{"steps": null}\n' + line + "\n")
    assert main(["eval", str(file)]) == 2
    assert f"{file}: not annotated trajectories: {said}" in capsys.readouterr().err
