"""Run a segmenter over annotated trajectories and compare: what `whyflame eval` does."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from whyflame.segment.name_scoring import main_path, paths_of, read_annotated
from whyflame.segment.rules import RulesSegmenter
from whyflame.segment.run import segment_lanes, tables_of
from whyflame.segment.scoring import Tally, bootstrap, summarize, tally
from whyflame.segment.trajectories import lane_of, read_trajectories

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whyflame.segment.lane import Lane
    from whyflame.segment.names import NameTables
    from whyflame.segment.segmenter import Mark, Segmenter

__all__ = ["Evaluation", "Trainable", "evaluate_file", "partition_at"]

_FOLDS = 5
_OUTER_DEPTH = 2  # the root and one level below it


@runtime_checkable
class Trainable(Protocol):
    """A segmenter that wants reference lanes; `eval` gives it those of other tasks."""

    def trained(self, lanes: Sequence[Lane], partitions: Sequence[list[int] | None]) -> Segmenter:
        """The same segmenter, fitted."""
        ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one file gives.

    Attributes:
        predictions: One record per trajectory, as written by `--predictions`.
        scores: Pooled and macro figures; empty when the file has no such annotation.
        intervals: 95 % bootstrap intervals of B-cubed F1 and boundary F1.
        names: Shares of annotated names whose verb and whose object words agree.
        skipped: Trajectories that their source marks as not to be scored.
        coverage: What rules matched and missed; None for other segmenters.
    """

    predictions: list[dict[str, Any]]
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    names: dict[str, float]
    skipped: int
    coverage: dict[str, Any] | None = None


def partition_at(marks: Sequence[Mark], steps: int, depth: int | None = None) -> list[int]:
    """Interval number per step, paths cut at `depth` names (None = innermost)."""
    paths = [path[:depth] for path in paths_of(marks, steps)]
    begun = accumulate(path != before for before, path in pairwise([(), *paths]))
    return [max(count - 1, 0) for count in begun]


def evaluate_file(
    path: Path, segmenter: Segmenter, gold: str = "partition", *, blank: bool = False
) -> Evaluation:
    """Segment every trajectory of a file and score those that are annotated.

    Args:
        path: JSON lines, gzip by name.
        segmenter: Which; a `Trainable` one is fitted on other tasks' trajectories, five folds.
        gold: Annotation to compare with: `partition` and `coarse` against the innermost
            intervals, `outer` against the outermost below the root.
        blank: Leave out all that was said, as when content is not captured.
    """
    records = list(read_trajectories(path))
    lanes = [lane_of(record, blank=blank) for record in records]
    for number, lane in enumerate(lanes):
        lane.name = str(number)
    marks = _segment(records, lanes, segmenter, gold)
    depth = _OUTER_DEPTH if gold == "outer" else None
    tallies, names, skipped = [], _NameScore(tables_of(segmenter)), 0
    for record, found in zip(records, marks, strict=True):
        annotated = _gold_of(record, gold)
        if annotated is None:
            continue
        if record.get("scorable") is False or record.get("canonical") is False:
            skipped += 1
            continue
        tallies.append(tally(partition_at(found, len(annotated), depth), annotated))
        names.add(record, annotated, found, gold)
    return Evaluation(
        predictions=[
            _prediction(record, found) for record, found in zip(records, marks, strict=True)
        ],
        scores=summarize(tallies),
        intervals=_intervals(tallies),
        names=names.shares(),
        skipped=skipped,
        coverage=segmenter.cover(lanes).report() if isinstance(segmenter, RulesSegmenter) else None,
    )


def _segment(
    records: list[dict[str, Any]], lanes: list[Lane], segmenter: Segmenter, gold: str
) -> list[tuple[Mark, ...]]:
    marks: list[tuple[Mark, ...]] = [()] * len(lanes)
    if not isinstance(segmenter, Trainable):
        return [found.marks for found in segment_lanes(lanes, segmenter, {})]
    order: dict[str, int] = {}
    folds = [
        order.setdefault(str(record.get("task_key")), len(order)) % _FOLDS for record in records
    ]
    partitions = [_gold_of(record, gold) for record in records]
    for fold in sorted(set(folds)):
        others = [i for i, other in enumerate(folds) if other != fold] or list(range(len(lanes)))
        fitted = segmenter.trained([lanes[i] for i in others], [partitions[i] for i in others])
        picked = [i for i, other in enumerate(folds) if other == fold]
        for i, found in zip(
            picked, segment_lanes([lanes[i] for i in picked], fitted, {}), strict=True
        ):
            marks[i] = found.marks
    return marks


def _gold_of(record: dict[str, Any], gold: str) -> list[int] | None:
    found = (record.get("gold") or {}).get(gold)
    if isinstance(found, dict):
        found = found.get("partition")
    if not isinstance(found, list) or len(found) != len(record["steps"]) or None in found:
        return None
    return found


def _prediction(record: dict[str, Any], marks: Sequence[Mark]) -> dict[str, Any]:
    steps = len(record["steps"])
    return {
        "id": record.get("id"),
        "partition": partition_at(marks, steps),
        "paths": [list(path) for path in paths_of(marks, steps)],
    }


def _intervals(tallies: list[Tally]) -> dict[str, tuple[float, float]]:
    if not tallies:
        return {}
    return {
        key: bootstrap(tallies, lambda scores, key=key: scores[key])  # type: ignore[misc]
        for key in ("b3_f1", "boundary_f1")
    }


class _NameScore:
    """Agreement of names, for files whose annotation names its groups.

    A group's predicted name is the innermost name that most of its steps carry; what is right is
    defined in `name_scoring`.
    """

    def __init__(self, tables: NameTables) -> None:
        self._tables = tables
        self._groups = self._verbs = self._objects = self._anywhere = 0

    def add(
        self, record: dict[str, Any], groups: list[int], marks: Sequence[Mark], gold: str
    ) -> None:
        """Count the named groups of one trajectory."""
        names = record["gold"].get("outer_names" if gold == "outer" else "names")
        if not names or not marks or gold == "coarse":
            return
        paths = paths_of(marks, len(groups))
        for group in dict.fromkeys(groups):
            name = names[group] if group < len(names) else None
            annotated = read_annotated(self._tables, name) if isinstance(name, str) else None
            if annotated is None:
                continue
            path = main_path(paths, groups, group)
            self._groups += 1
            self._verbs += annotated.has_verb_of(path[-1])
            self._objects += annotated.has_object_of(path[-1:])
            self._anywhere += annotated.has_object_of(path)

    def shares(self) -> dict[str, float]:
        """Empty when nothing was named."""
        if not self._groups:
            return {}
        return {
            "named_groups": self._groups,
            "verb_class": self._verbs / self._groups,
            "object_word": self._objects / self._groups,
            "object_word_in_path": self._anywhere / self._groups,
        }
