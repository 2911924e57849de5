"""What a collector finds in the bundled fleet is what the model server and the tools counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import Serving, differences

from whyflame import demo_data

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ABOUT = ("agent", "task", "version", "outcome")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("fleet") / "data") as serving:
        serving.send(demo_data.requests())
        serving.settle()
        yield serving


def wrong(row: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Sums that differ. OpenTelemetry's OpenAI package does not report a zero: unknown there."""
    expected = {key: value for key, value in known.items() if key not in ABOUT}
    found = differences(row, expected)
    return {key: pair for key, pair in found.items() if any(pair)}


def test_the_whole_fleet_adds_up(serving: Serving) -> None:
    """Every sum of the totals is exact."""
    (row,) = serving.totals()
    assert differences(row, demo_data.manifest()["totals"]) == {}


def test_every_session_adds_up(serving: Serving) -> None:
    """310 sessions of four dialects, each exact."""
    rows = {row["session"]: row for row in serving.totals("session")}
    sessions = demo_data.manifest()["sessions"]
    assert rows.keys() == sessions.keys()
    found = {name: wrong(rows[name], known) for name, known in sessions.items()}
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


def test_outcomes_are_the_ones_that_happened(serving: Serving) -> None:
    """Each run ends as its agent said."""
    found = {row["session"]: row["outcome"] for row in serving.totals("session,outcome")}
    known = {name: row["outcome"] for name, row in demo_data.manifest()["sessions"].items()}
    assert found == known
