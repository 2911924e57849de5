"""Evidence frames."""

from __future__ import annotations

import pytest
from tests.unit.settle.builders import Trace

from whyflame.settle.leaf import find_leaf, is_hand_off


@pytest.mark.parametrize(
    ("what", "fields", "leaf"),
    [
        ("llm:a", {"model": "gpt-5"}, "call gpt-5"),
        ("llm:a", {}, "call model"),
        ("tool:a", {"tool": "bash"}, "run bash"),
        ("embed:a", {"model": "e-3"}, "embed e-3"),
        ("agent:a", {"agent": "coder"}, None),
        ("control:a", {"name": "handoff to billing"}, "hand off to billing"),
        ("control:a", {"tool": "transfer_to_fixer"}, "hand off to fixer"),
        ("control:a", {"tool": "transfer_to_agent"}, "hand off"),
        ("control:a", {"name": "triage \u2192 unknown.handoff"}, "hand off"),
        ("control:a", {"tool": "delegate_task_to_member"}, "hand off"),
        ("control:a", {"tool": "final_answer"}, None),
        ("file:a", {"effect": "read", "path_group": "src"}, "read src"),
        ("network:a", {"domain": "example.com"}, "reach example.com"),
        ("process:a", {"tool": "git"}, "run git"),
        ("prompt:a", {}, None),
        ("wrap:a", {}, None),
    ],
)
def test_frames_are_verb_and_name(what: str, fields: dict[str, str], leaf: str | None) -> None:
    """Structure has no frame of its own."""
    assert find_leaf(Trace().add(what, 0, 1, **fields)) == leaf


def test_a_final_answer_hands_nothing_over() -> None:
    """It is control, but the conversation ends there."""
    assert not is_hand_off(Trace().add("control:a", 0, 1, tool="final_answer"))
    assert not is_hand_off(Trace().add("tool:a", 0, 1, tool="transfer_to_bank"))
