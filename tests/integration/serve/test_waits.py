"""Waiting for the user: what the API, the command line and the page get when they ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.query_server import QueryServer, made, open_filled, serving

from whyflame.cli import main
from whyflame.config import Config, ViewConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT = "wait for user"
ALL = {"view": "time", "stack": "agent", "format": "folded"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryServer]:
    """Two sessions: turns with three and five seconds between them, and one turn alone."""
    operations = [
        made(1, 1, turn=0),
        made(1, 5, turn=1),
        made(1, 11, turn=2, agent="writer"),
        made(2, 1, turn=0),
    ]
    views = {"afternoon": ViewConfig(stack=["session"], measure="duration", waits=True)}
    store = open_filled(tmp_path_factory.mktemp("waits") / "w.duckdb", operations)
    with serving(store, Config(views=views)) as running:
        yield running
    store.close()


def ask(server: QueryServer, **more: Any) -> dict[str, int]:
    answer = server.http.get("/api/v1/profile", params={**ALL, **more})
    assert answer.status_code == 200, answer.text
    lines = [line.rpartition(" ") for line in answer.text.splitlines()]
    return {stack: int(value) // 1_000_000_000 for stack, _, value in lines}


def test_waiting_is_off_by_default(server: QueryServer) -> None:
    assert ask(server) == ask(server, waits="false") == {"coder": 3, "writer": 1}


def test_waiting_is_shown_when_asked_for(server: QueryServer) -> None:
    waits = {f"coder;{WAIT}": 3, f"writer;{WAIT}": 5}
    assert ask(server, waits="true") == {"coder": 3, "writer": 1, **waits}


def test_a_view_may_show_it_and_a_question_may_leave_it_out(server: QueryServer) -> None:
    assert ask(server, view="afternoon", stack="session")[f"s1;{WAIT}"] == 8
    assert ask(server, view="afternoon", stack="session", waits="false") == {"s1": 3, "s2": 1}
    views = server.http.get("/api/v1/options").json()["views"]
    assert [view["name"] for view in views if view["waits"]] == ["afternoon"]


def test_a_word_that_is_no_flag_is_refused(server: QueryServer) -> None:
    answer = server.http.get("/api/v1/profile", params={**ALL, "waits": "yes"})
    assert (answer.status_code, answer.json()["error"]) == (
        400, "waits is true or false, not 'yes'",
    )  # fmt: skip


@pytest.mark.parametrize("anywhere", ["true", "false"])
def test_behind_a_wait_is_its_session(server: QueryServer, anywhere: str) -> None:
    frames = [WAIT] if anywhere == "true" else ["coder", WAIT]
    asked = {"view": "time", "stack": "agent", "waits": "true", "frame": frames}
    found = server.http.get("/api/v1/behind", params={**asked, "anywhere": anywhere}).json()
    assert [(row["session"], row["operations"]) for row in found["rows"]] == [("s1", 0)]
    assert found["total"] == (8 if anywhere == "true" else 3) * 1_000_000_000


def test_a_comparison_may_show_it(server: QueryServer) -> None:
    asked = {"view": "time", "stack": "agent", "base": "session=s2", "target": "session=s1"}
    totals = [
        server.http.get("/api/v1/diff", params={**asked, "waits": waits, "format": "tree"})
        .json()["totals"]
        for waits in ("false", "true")
    ]  # fmt: skip
    base, target = zip(*totals, strict=True)
    assert [side[0] for side in base] == [1_000_000_000] * 2
    assert [side[0] for side in target] == [3_000_000_000, 11_000_000_000]


def test_the_command_asks_a_server_for_it(server: QueryServer, tmp_path: Path) -> None:
    out = tmp_path / "time.folded"
    asked = ["profile", "--url", server.url, "--view", "time", "--stack", "agent", "-o", str(out)]
    assert main(asked) == 0
    assert WAIT not in out.read_text()
    assert main([*asked, "--waits"]) == 0
    assert out.read_text().count(WAIT) == 2
