"""The public data as lanes, labels and folds."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyflame.segment.evaluation import partition_at
from whyflame.segment.segmenter import Mark
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from pathlib import Path

    from whyflame.segment.lane import Lane

MARKED = (
    "claude_code_todo",
    "llm_agents_study",
    "who_and_when",
    "tau_bench_airline",
    "agentrx",
    "swe_agent_demos",
)
FOLDS = 5
_LONG_TASK = 40


@dataclass
class Row:
    """One trajectory with what is known about it."""

    source: str
    task: str
    lane: Lane
    blank: Lane
    outer: list[int] | None
    inner: list[int] | None
    silver: list[int] | None
    record: dict[str, Any]

    @property
    def fold(self) -> int:
        """Fold of the task: equal tasks, also of different sources, stay together."""
        return zlib.crc32(self.task.encode()) % FOLDS


def read_marks(bench: Path) -> dict[tuple[str, str], list[Mark]]:
    """Model marks by (source, id)."""
    with gzip.open(bench / "model-marks.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {
        (row["dataset"], row["id"]): [Mark(one["step"], tuple(one["path"])) for one in row["marks"]]
        for row in rows
    }


def task_of(source: str, record: dict[str, Any]) -> str:
    """What the trajectory works on, equal across sources and variants of a task."""
    text = record["task"] if isinstance(record["task"], str) else ""
    text = re.sub(r"\W+", " ", text).lower()[:80]
    if source != "claude_code_todo" and len(text) > _LONG_TASK:
        return text
    return str(record["task_key"]).split(".")[0]


def read_rows(bench: Path) -> list[Row]:
    """Every trajectory of the marked sources that has any annotation."""
    marks, rows = read_marks(bench), []
    for source in MARKED:
        for record in read_trajectories(bench / "trajectories" / f"{source}.jsonl.gz"):
            marked = marks.get((source, record["id"]))
            silver = None
            if source == "claude_code_todo" and record.get("scorable"):
                silver = record["gold"]["partition"]
            if marked is None and silver is None:
                continue
            steps = len(record["steps"])
            rows.append(
                Row(
                    source=source,
                    task=task_of(source, record),
                    lane=lane_of(record),
                    blank=lane_of(record, blank=True),
                    outer=partition_at(marked, steps, 2) if marked else None,
                    inner=partition_at(marked, steps) if marked else None,
                    silver=silver,
                    record=record,
                )
            )
    return rows
