"""`marks`: intervals read from a file, and mark files written.

The reference tool's mark file: one JSON object with `sequence_field`, `id_field`,
`operation_names` {opaque id: name} and `marks` [{sequence, start_operation_id, operation_ids}],
sparse, complete paths, the first mark of a sequence at its first operation. Sequences are matched
to lanes by session id, or by "<session>/<lane>" for lanes of sub-agents.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.errors import ConfigError
from whyflame.segment.names import Namer, load_tables
from whyflame.segment.segmenter import InvalidMarks, Mark
from whyflame.segment.workspace import read_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyflame.config import SegmentConfig
    from whyflame.segment.lane import Lane

__all__ = ["MarksSegmenter", "read_marks", "write_marks"]

_KEYS = {"sequence_field", "id_field", "operation_names", "marks"}
_FIRST = {"step": 0, "step_id": 1}
_ID_HEX = 24


def read_marks(path: Path) -> dict[str, list[Mark]]:
    """Marks by sequence.

    `id_field` says what `start_operation_id` counts: `step` from 0, `step_id` from 1.

    Raises:
        InvalidMarks: Another shape, unknown or repeated names, starts out of order.
    """
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidMarks(f"{path}: {error}") from error
    if not isinstance(raw, dict) or set(raw) != _KEYS:
        raise InvalidMarks(f"{path}: expected exactly the keys {', '.join(sorted(_KEYS))}")
    names: dict[str, str] = raw["operation_names"]
    if len(set(names.values())) != len(names):
        raise InvalidMarks(f"{path}: two ids of operation_names have the same name")
    if raw["id_field"] not in _FIRST:
        raise InvalidMarks(f"{path}: id_field {raw['id_field']!r}: known are step and step_id")
    found: dict[str, list[Mark]] = {}
    for number, mark in enumerate(raw["marks"]):
        _append(found, mark, names, _FIRST[raw["id_field"]], f"{path}: mark {number}")
    return found


def _append(
    found: dict[str, list[Mark]], raw: Any, names: dict[str, str], first: int, where: str
) -> None:
    try:
        sequence, ids = str(raw["sequence"]), raw["operation_ids"]
        step = int(raw["start_operation_id"]) - first
        path = tuple(names[str(one)] for one in ids)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidMarks(f"{where}: {error!r}") from error
    marks = found.setdefault(sequence, [])
    if not path or (step <= marks[-1].step if marks else step != 0):
        raise InvalidMarks(f"{where}: empty path, or a start that is not the next one")
    marks.append(Mark(step, path))


def write_marks(path: Path, marks: Mapping[str, Sequence[Mark]]) -> None:
    """Write a mark file; equal names share an id that depends on the name alone."""
    names: dict[str, str] = {}
    rows = []
    for sequence in sorted(marks):
        for mark in marks[sequence]:
            ids = [f"op-{sha256(name.encode()).hexdigest()[:_ID_HEX]}" for name in mark.path]
            names.update(zip(ids, mark.path, strict=True))
            rows.append(
                {
                    "operation_ids": ids,
                    "sequence": sequence,
                    "start_operation_id": str(mark.step),
                }
            )
    text = {
        "id_field": "step",
        "marks": rows,
        "operation_names": dict(sorted(names.items())),
        "sequence_field": "session",
    }
    path.write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n", "utf-8")


class MarksSegmenter:
    """Marks from a file instead of from the lane.

    Args:
        config: Option `file`: a mark file, or the folder of an annotation workspace
            (`trace.jsonl`, `annotation.json`).

    Raises:
        ConfigError: No such option or file, or the file is wrong.
    """

    name = "marks"

    def __init__(self, config: SegmentConfig) -> None:
        self.namer = Namer(load_tables(config.names_file))
        if "file" not in config.options:
            raise ConfigError("segment.options.file: the marks segmenter needs a file to read")
        path = Path(str(config.options["file"]))
        try:
            self._marks = read_workspace(path).marks() if path.is_dir() else read_marks(path)
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            content = b"".join(file.read_bytes() for file in files if file.is_file())
            self.fingerprint = sha256(content).hexdigest()
        except InvalidMarks as error:
            raise ConfigError(f"segment.options.file: {error}") from error

    def segment(self, lane: Lane) -> Sequence[Mark]:
        """The file's marks; a lane that the file does not know is one interval.

        Raises:
            InvalidMarks: The file marks more steps than the lane has.
        """
        if not lane.steps:
            return []
        keys = [f"{lane.session}/{lane.name}"]
        if lane.parent is None:
            keys.append(lane.session)
        marks = next((self._marks[key] for key in keys if key in self._marks), None)
        if marks is None:
            return [Mark(0, (self.namer.root(lane),))]
        return marks
