"""Mark files and annotation workspaces: read, checked, written, read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.segment.made import coding_lane

from whyflame.config import SegmentConfig
from whyflame.errors import ConfigError
from whyflame.segment import Mark, load_segmenter
from whyflame.segment.marks import read_marks, write_marks
from whyflame.segment.segmenter import InvalidMarks
from whyflame.segment.workspace import read_workspace, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

MARKS = [
    Mark(0, ("fix shop", "inspect login")),
    Mark(2, ("fix shop", "fix login")),
    Mark(4, ("fix shop", "fix login", "test login")),
    Mark(7, ("fix shop", "report result")),
]


def test_mark_file_round_trip(tmp_path: Path) -> None:
    """What is written is read again, and segments the session it names."""
    path = tmp_path / "marks.json"
    write_marks(path, {"s1": MARKS})
    assert read_marks(path) == {"s1": MARKS}
    lane = coding_lane()
    lane.session = "s1"
    segmenter = load_segmenter(SegmentConfig(segmenter="marks", options={"file": str(path)}))
    assert segmenter.segment(lane) == MARKS
    lane.session = "other"
    assert segmenter.segment(lane) == [Mark(0, ("fix login page",))]


def test_workspace_round_trip(tmp_path: Path) -> None:
    """A lane written as a workspace gives the same marks, with the root on the session."""
    write_workspace(tmp_path, "s1", coding_lane(), MARKS)
    workspace = read_workspace(tmp_path)
    (marks,) = workspace.marks().values()
    assert [(m.step, tuple(dict.fromkeys(m.path))) for m in marks] == [
        (m.step, m.path) for m in MARKS
    ]
    assert workspace.totals("operations") == (
        {"fix shop": 7, "inspect login": 2, "fix login": 5, "test login": 3, "report result": 0}, 7,
    )  # fmt: skip
    assert len(next(iter(workspace.lanes().values())).steps) == 8


GOOD: dict[str, Any] = {
    "sequence_field": "session", "id_field": "step", "operation_names": {"a": "fix x", "b": "test x"},
    "marks": [{"sequence": "s", "start_operation_id": "0", "operation_ids": ["a", "b"]}],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"id_field": "uuid"},
        {"operation_names": {"a": "fix x", "b": "fix x"}},
        {"marks": [{"sequence": "s", "start_operation_id": "1", "operation_ids": ["a"]}]},
        {"marks": [{"sequence": "s", "start_operation_id": "0", "operation_ids": []}]},
        {"marks": [{"sequence": "s", "start_operation_id": "0", "operation_ids": ["zzz"]}]},
        {"marks": [GOOD["marks"][0], GOOD["marks"][0]]},
    ],
)
def test_wrong_mark_files(tmp_path: Path, change: dict[str, Any]) -> None:
    """Fail closed, as an error of the configuration."""
    path = tmp_path / "marks.json"
    path.write_text(json.dumps(GOOD))
    read_marks(path)
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InvalidMarks):
        read_marks(path)
    with pytest.raises(ConfigError, match="file"):
        load_segmenter(SegmentConfig(segmenter="marks", options={"file": str(path)}))
    with pytest.raises(ConfigError, match="needs a file"):
        load_segmenter(SegmentConfig(segmenter="marks"))


NODES = [
    {"id": "s", "parent": None, "kind": "session", "data": {}, "metrics": {}},
    {"id": "p", "parent": "s", "kind": "prompt", "data": {"text": "fix it"}, "metrics": {}},
    {"id": "l1", "parent": "p", "kind": "llm", "data": {}, "metrics": {}},
    {
        "id": "t1",
        "parent": "l1",
        "kind": "tool",
        "data": {"name": "x"},
        "metrics": {"operations": 1},
    },
    {"id": "l2", "parent": "p", "kind": "llm", "data": {}, "metrics": {}},
]
INTERVALS: dict[str, Any] = {
    "s": {"tag": "fix it", "parent": None, "next": None},
    "p": {"tag": "fix all", "parent": "s", "next": None},
    "l1": {"tag": "read it", "parent": "p", "next": "l2"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"l1": {"tag": "a b c d", "parent": "p", "next": None}},
        {"l1": {"tag": "read it", "parent": "s", "next": None}},
        {"l1": {"tag": "read it", "parent": "l2", "next": None}},
        {"l1": {"tag": "read it", "parent": "p", "next": "p"}},
        {"l1": {"tag": "read it", "parent": None, "next": None}},
        {"l1": {"tag": "read it", "parent": "p"}},
        {"zz": {"tag": "read it", "parent": "p", "next": None}},
        {"p": {"tag": "fix all", "parent": "s", "next": "l1"}},
    ],
)
def test_wrong_annotations(tmp_path: Path, change: dict[str, Any]) -> None:
    """Crossing, uncovered, unknown: each is refused."""
    (tmp_path / "trace.jsonl").write_text("\n".join(json.dumps(node) for node in NODES))
    (tmp_path / "annotation.json").write_text(json.dumps(INTERVALS))
    assert read_workspace(tmp_path).nodes[3].path == ("fix it", "fix all", "read it")
    (tmp_path / "annotation.json").write_text(json.dumps({**INTERVALS, **change}))
    with pytest.raises(InvalidMarks):
        read_workspace(tmp_path)
