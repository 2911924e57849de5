"""One small fleet behind a real server, shared by the tests that only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.made import SECOND, T0
from tests.query_server import QueryServer, made, open_filled, serving

from whyflame.config import Config, ViewConfig
from whyflame.model import Kind, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whyflame.model import Operation

AGENT_SPAN = {"kind": Kind.AGENT, "operations": 0, "leaf": None, "tokens": None, "model": None}


def span_id(number: int) -> bytes:
    """The id of span `number`, as it is sent."""
    return number.to_bytes(8, "big")


def fleet() -> list[Operation]:
    """Three sessions: a planner with a sub-agent, a coder that fails once, another tenant's."""
    return [
        made(1, 1, "plan work", agent="planner", **AGENT_SPAN),
        made(1, 2, "plan work", 30, agent="planner", parent_id=span_id(1), cost_nanousd=1_500),
        made(1, 3, "plan work", None, agent="planner", parent_id=span_id(2), kind=Kind.TOOL,
             leaf="run search", tool="search", model=None),
        made(1, 4, "plan work;write code", agent="coder", parent_id=span_id(1), **AGENT_SPAN),
        made(1, 5, "plan work;write code", 50, agent="coder", parent_id=span_id(4),
             model="haiku", leaf="call haiku", cost_nanousd=700),
        made(2, 10, "fix tests", 20, service="web", outcome="completed", user="u1"),
        made(2, 11, "fix tests", None, service="web", kind=Kind.TOOL, leaf="run bash", tool="bash",
             model=None, status=Status.ERROR, error_type="timeout", errors=1, outcome="completed"),
        made(3, 12, "secret work", 7, tenant="team-b", service="hidden"),
    ]  # fmt: skip


def config() -> Config:
    """With views that show the path or the agent alone."""
    return Config(
        views={
            "only_path": ViewConfig(stack=["path"], measure="tokens"),
            "by_agent": ViewConfig(stack=["agent"], measure="tokens"),
            "Odd-Name": ViewConfig(stack=["model"], measure="cost"),
        }
    )


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryServer]:
    """The fleet's server; do not write to its store."""
    store = open_filled(tmp_path_factory.mktemp("fleet") / "w.duckdb", fleet())
    with serving(store, config()) as running:
        yield running
    store.close()


@pytest.fixture(scope="package")
def empty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryServer]:
    """A server without data."""
    store = open_filled(tmp_path_factory.mktemp("empty") / "w.duckdb", [])
    with serving(store) as running:
        yield running
    store.close()


__all__ = ["SECOND", "T0", "config", "fleet", "span_id"]
