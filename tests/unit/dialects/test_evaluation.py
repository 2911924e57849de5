"""Evaluations become outcomes, whichever way they are written down."""

from __future__ import annotations

from typing import Any

import pytest
from tests.otlp import Row, logs, traces

from whyflame.dialects import read_logs, read_traces
from whyflame.dialects.evaluation import EVALUATION
from whyflame.model import Kind

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder"}
SCORE = "gen_ai.evaluation.score"


def outcome(attributes: dict[str, Any], *events: dict[str, Any]) -> str | None:
    row = Row("x", "agent", {**AGENT, **attributes}, events=tuple((EVALUATION, e) for e in events))
    (span,) = read_traces(traces(row), tenant="", received_ns=1)
    return span.outcome


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("pass", "success"),
        ("Correct", "success"),
        ("fail", "failure"),
        ("incorrect", "failure"),
        ("success", "success"),
        ("partly", "partly"),
        (1.0, "success"),
        (0, "failure"),
        (0.2, "failure"),
    ],
)
def test_labels_and_scores_are_told_in_our_words(said: Any, meant: str) -> None:
    """What is no usual label stays as it is."""
    key = f"{SCORE}.value" if isinstance(said, (int, float)) else f"{SCORE}.label"
    assert outcome({key: said}) == meant
    assert outcome({}, {key: said}) == meant


def test_a_statement_wins_over_events_and_the_newest_event_over_earlier_ones() -> None:
    """The label of an event wins over its score."""
    good, bad = {f"{SCORE}.label": "pass", f"{SCORE}.value": 0.1}, {f"{SCORE}.label": "fail"}
    assert outcome({}, bad, good) == "success"
    assert outcome({"whyflame.outcome": "failure"}, good) == "failure"
    assert outcome({}, {"gen_ai.evaluation.name": "no score"}) is None


def test_a_log_event_is_an_evaluation_of_the_span_it_names() -> None:
    """It is no operation; without a score it is nothing at all."""
    scored = {"event.name": EVALUATION, f"{SCORE}.value": 0.9, "gen_ai.evaluation.name": "q"}
    silent = {"event.name": EVALUATION, "gen_ai.evaluation.name": "q"}
    (span,) = read_logs(logs("judge", scored, silent, span=7), tenant="", received_ns=1)
    assert (span.kind, span.outcome) == (Kind.OTHER, "success")
    assert span.parent_id == (7).to_bytes(8, "big")
