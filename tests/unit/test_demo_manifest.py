"""The manifest agrees with itself and holds the fleet that the documentation promises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.demo_data import manifest

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = ("llm_calls", "llm_errors", "tool_calls", "tool_errors", "input_tokens", "output_tokens")
GROUPS = ("sessions", "by_task", "by_phase", "by_agent", "by_outcome", "by_version")
ROW = re.compile(r"^\| ([a-z ]+?) \| ([\d,]+) \| ([\d.]+) % \|", re.MULTILINE)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return manifest()


@pytest.mark.parametrize("group", GROUPS)
def test_every_grouping_adds_up_to_the_totals(found: dict[str, Any], group: str) -> None:
    """Nothing is lost or doubled, however the figures are split."""
    for key in COUNTS:
        assert sum(row[key] or 0 for row in found[group].values()) == found["totals"][key]


def test_the_fleet_is_as_large_as_promised(found: dict[str, Any]) -> None:
    """Hundreds of sessions, at least three agents, at least ten tasks, failures in each agent."""
    sessions = found["sessions"].values()
    assert len(sessions) >= 300
    assert len({session["agent"] for session in sessions}) >= 3
    assert len({session["task"] for session in sessions}) >= 10
    failing = {session["agent"] for session in sessions if session["outcome"] == "failure"}
    assert failing == {session["agent"] for session in sessions}


def test_the_story_in_the_documentation_is_true(found: dict[str, Any], root: Path) -> None:
    """Each row of the tables in docs/demo.md is what the manifest says."""
    rows = ROW.findall((root / "docs" / "demo.md").read_text())
    assert len(rows) >= 20
    totals = found["totals"]
    everything = totals["input_tokens"] + totals["output_tokens"]
    for name, tokens, share in rows:
        written = int(tokens.replace(",", ""))
        known = [
            found[g][name]["tokens"]
            for g in ("by_task", "by_phase", "by_agent")
            if name in found[g]
        ]
        assert written in known
        assert share == f"{100 * written / everything:.1f}"
