"""What the model is shown of a lane: numbered turns with redacted excerpts, never an id.

FULL shows the result of every turn, SELECTIVE only of those most likely to end something: results
that speak of outcomes, calls that verify.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from whyflame.content.features import RECORD_BYTES, decode_words

if TYPE_CHECKING:
    from whyflame.segment.lane import Lane, Step

__all__ = ["INSTRUCTION", "SCHEMA", "has_excerpts", "packet_of"]

_OUTCOME = re.compile(
    r"\b(?:error|fail\w*|exception|traceback|pass(?:ed)?|success\w*|warning|timeout|not found|"
    r"no such)\b",
    re.IGNORECASE,
)
_VERIFIES = re.compile(
    r"\b(?:test\w*|pytest|make|build|verify|validate|check|git (?:diff|status))\b", re.IGNORECASE
)
_MIN_RESULTS, _MAX_RESULTS, _SHARE = 2, 10, 0.15
_OUTCOME_SCORE, _VERIFY_SCORE, _LONG_SCORE, _LONG = 5, 3, 2, 512

INSTRUCTION = """You are given one finished run of an agent as numbered turns. Divide it into \
nested tasks, in one pass, as sparse marks. A mark is the turn where the path changes and the \
complete path from then on. The first mark is at turn 0. Every path begins with the same root, \
which states the goal of the run. Begin a new task only where the responsibility changes and stays \
changed, not for a new command, file, tool or retry. Nest only where a task has meaningful parts. \
Names are lower case, one to three words, and begin with one of these verbs: {verbs}. Use the same \
name for the same work. Never name the agent, the model or a score. Answer with JSON only: \
{{"marks": [{{"turn": 0, "path": ["root name", "task name"]}}]}}"""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["marks"],
    "properties": {
        "marks": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["turn", "path"],
                "properties": {
                    "turn": {"type": "integer", "minimum": 0},
                    "path": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 6,
                        "items": {"type": "string", "minLength": 1, "maxLength": 60},
                    },
                },
            },
        }
    },
}


def has_excerpts(lane: Lane) -> bool:
    """Whether content mode `excerpt` was on when the lane was recorded."""
    return any(any(_excerpts(features)) for step in lane.steps for features in _all_features(step))


def packet_of(lane: Lane, *, selective: bool) -> str:
    """The lane as JSON for the model."""
    turns = [_turn(number, step) for number, step in enumerate(lane.steps)]
    if selective:
        shown = _most_telling(turns)
        for turn in turns:
            if turn["turn"] not in shown:
                turn.pop("result", None)
    request = _excerpts(lane.request)[0] if lane.request else ""
    return json.dumps({"request": request, "turns": turns}, ensure_ascii=False)


def _all_features(step: Step) -> list[bytes]:
    return [f for f in (step.features, *(call.features for call in step.calls)) if f]


def _excerpts(features: bytes | None) -> tuple[str, str, str, str]:
    if not features or len(features) <= RECORD_BYTES:
        return ("", "", "", "")
    return decode_words(features)[5]


def _turn(number: int, step: Step) -> dict[str, Any]:
    prompt, response, _, _ = _excerpts(step.features)
    turn: dict[str, Any] = {"turn": number}
    if prompt:
        turn["user"] = prompt
    if response:
        turn["says"] = response
    if step.calls:
        turn["does"] = [f"{call.tool} {_excerpts(call.features)[2]}".strip() for call in step.calls]
        results = [_excerpts(call.features)[3] for call in step.calls]
        failed = ["failed" for call in step.calls if call.failed]
        if any(results) or failed:
            turn["result"] = " | ".join(filter(None, (*failed, *results)))
    return turn


def _most_telling(turns: list[dict[str, Any]]) -> set[int]:
    """Turns whose result is shown in SELECTIVE."""
    count = max(_MIN_RESULTS, min(_MAX_RESULTS, math.ceil(_SHARE * len(turns))))

    def rank(turn: dict[str, Any]) -> tuple[float, int, int]:
        result, does = turn.get("result", ""), " ".join(turn.get("does", []))
        score = _OUTCOME_SCORE * bool(_OUTCOME.search(result))
        score += _VERIFY_SCORE * bool(_VERIFIES.search(does))
        score += _LONG_SCORE * bool(turn.get("says"))
        return (-(score + min(2.0, len(result) / _LONG)), -len(result), turn["turn"])

    return {turn["turn"] for turn in sorted(turns, key=rank)[:count]}
