"""Annotated trajectories (JSON lines) as lanes: the way into `eval` and training.

Only what an instrumented agent would have sent is read: kinds, names, arguments, texts, results,
status. Times, message numbers, labels and outcomes are never looked at; in some sets they betray
the answer.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from whyflame.model import Content, Kind
from whyflame.segment.lane import Call, Lane, Step, features_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["lane_of", "read_trajectories"]

_RESULTS = frozenset(["tool", "environment", "computer_terminal"])
_ACTS = frozenset(["tool", "gui", "environment"])
_PEOPLE = frozenset(["user", "human"])


def read_trajectories(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file that have steps; gzip by name.

    Raises:
        ValueError: A line is not of the form that `docs/segmentation.md` tells; names the line.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                record = _record(line, number)
                if record.get("steps"):
                    yield record


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is not JSON ({error})") from error
    steps = (record.get("steps") or []) if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(steps, list):
        raise ValueError(f"line {number} is no object with a list `steps`")  # noqa: TRY004 - of a file
    for place, step in enumerate(steps):
        if not isinstance(step, dict) or "kind" not in step:
            raise ValueError(f"line {number}, step {place}: needs `kind`")
        if step["kind"] in _ACTS and "action" not in step:
            raise ValueError(f"line {number}, step {place}: a {step['kind']} needs `action`")
    return record


def lane_of(trajectory: dict[str, Any], *, blank: bool = False) -> Lane:
    """The lane a collector would have built.

    Args:
        trajectory: One record.
        blank: Leave out everything said and asked, as when content is not captured.
    """
    lane = Lane(steps=[])
    turn = 0
    task = trajectory.get("task")
    if isinstance(task, str) and " " in task and not blank:
        lane.request = features_of(Kind.AGENT, Content(prompt=task[:400]))
    for record in trajectory["steps"]:
        if record["kind"] in _PEOPLE or str(record.get("actor")).lower() in _PEOPLE:
            turn += 1
        lane.steps.append(_step(record, turn, blank=blank))
    return lane


def _step(record: dict[str, Any], turn: int, *, blank: bool) -> Step:
    actor, kind = str(record.get("actor") or ""), record["kind"]
    text = "" if blank else str(record.get("text") or "")
    failed = record.get("status") == "error"
    if kind in _PEOPLE or actor.lower() in _PEOPLE:
        content = Content(prompt=text[:400], prompt_bytes=len(text) or 1)
        return Step(features_of(Kind.PROMPT, content), actor, turn)
    if kind in _ACTS or actor.lower() in _RESULTS:
        return _tool_step(record, turn, text, failed=failed)
    arguments = record.get("action_detail") if kind == "llm" else None
    step = Step(_said(text), actor, turn, failed)
    if arguments:
        content = Content(arguments=str(arguments)[:200])
        step.calls.append(
            Call(record["action"], features=features_of(Kind.TOOL, content, record["action"]))
        )
    return step


def _said(text: str) -> bytes | None:
    if not text:
        return None
    return features_of(Kind.LLM, Content(response=text[:200], response_bytes=len(text)))


def _tool_step(record: dict[str, Any], turn: int, text: str, *, failed: bool) -> Step:
    actor, tool = str(record.get("actor") or ""), str(record["action"])
    detail, result = record.get("action_detail"), record.get("result")
    if actor.lower() in _RESULTS and not detail:
        detail, result, text = None, text or result, ""
    content = Content(
        arguments=str(detail)[:200] if detail else None,
        arguments_bytes=len(str(detail)) if detail else None,
        result=str(result)[:200] if result else None,
        result_bytes=len(str(result)) if result else None,
    )
    call = Call(tool, failed, features_of(Kind.TOOL, content, tool))
    return Step(_said(text), actor, turn, failed, [call])
