"""`/api/v1` keeps the bounds that Grafana's questions keep: time, rows, waiting, nobody listening."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.routing import Route
from tests.e2e.fleet import no_actions
from tests.query_server import NOW, made, open_filled, run_app

from whyflame.config import Config, QueryConfig
from whyflame.errors import NothingMatched, QueryStopped
from whyflame.serve.api import build_api
from whyflame.serve.outbox import outbox_routes
from whyflame.serve.questions import Filter, ProfileRequest
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.applications import Starlette

    from whyflame.store.duck import Store

# Minutes of work, in pieces that notice an interrupt at once.
FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"
QUESTIONS = {
    "/api/v1/totals": "/api/v1/totals?by=session",
    "/api/v1/profile": "/api/v1/profile?stack=path,leaf",
    "/api/v1/diff": "/api/v1/diff?base=session%3Ds1&target=session%3Ds2",
    "/api/v1/sessions": "/api/v1/sessions",
    "/api/v1/sessions/{session:anything}": "/api/v1/sessions/s1",
    "/api/v1/status": "/api/v1/status",
    "/api/v1/values": "/api/v1/values?field=path",
    "/api/v1/behind": "/api/v1/behind?frame=planner",
    "/api/v1/coverage": "/api/v1/coverage",
    "/api/v1/outbox": "/api/v1/outbox",
}
ASK_NOTHING = {"/api/v1/options", "/api/v1/openapi.json"}


class Stuck(StoreQuestions):
    """A store whose sums wait, deaf to everything, until they may go on."""

    begun = threading.Event()
    may_go_on = threading.Event()

    def totals(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        Stuck.begun.set()
        Stuck.may_go_on.wait(20)
        return super().totals(by, chosen)


class Endless(StoreQuestions):
    """A store whose sums take for ever."""

    begun = threading.Event()
    ended = threading.Event()
    reason = ""

    def totals(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        Endless.begun.set()
        try:
            self._store.cursor().execute(FOREVER).fetchall()
        except QueryStopped as error:
            Endless.reason = str(error)
            raise
        finally:
            Endless.ended.set()
        return super().totals(by, chosen)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    operations = [made(t, 10 * t + n, f"task {n}", agent="planner") for t in (1, 2) for n in (1, 2)]
    opened = open_filled(tmp_path / "w.duckdb", operations)
    yield opened
    opened.close()


def build(
    store: Store, query: QueryConfig, kind: type[StoreQuestions] = StoreQuestions
) -> Starlette:
    config, runner = Config(query=query), Runner(store, query)
    Endless.begun.clear()
    Endless.ended.clear()
    questions = kind(store, config, lambda: NOW)
    routes = outbox_routes(store, runner, lambda: NOW, nullcontext)
    return build_api(questions, runner, no_actions(), None, routes=routes)


@contextmanager
def client_of(app: Starlette) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=None)
    with run_app(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=20, limits=limits) as client:  # fmt: skip
        yield client


def test_no_question_is_missing_here(store: Store) -> None:
    """Whoever adds a route to the API says here how it is asked."""
    asked = {
        route.path
        for route in build(store, QueryConfig()).routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
        if route.path.startswith("/api/v1/")
    }
    assert asked == set(QUESTIONS) | ASK_NOTHING


@pytest.mark.parametrize("target", QUESTIONS.values())
def test_a_question_waits_no_longer_than_allowed(store: Store, target: str) -> None:
    """The only thread is busy with another one."""
    app = build(store, QueryConfig(timeout=0.3, concurrency=1), Stuck)
    Stuck.begun.clear()
    Stuck.may_go_on.clear()
    with client_of(app) as client:
        busy = threading.Thread(target=client.get, args=("/api/v1/totals",))
        busy.start()
        assert Stuck.begun.wait(10)
        answer = client.get(target)
        Stuck.may_go_on.set()
        busy.join()
    assert answer.status_code == 504, answer.text
    assert "longer than 0.3 s" in answer.json()["error"]


def test_a_question_that_takes_too_long_is_stopped(store: Store) -> None:
    with client_of(build(store, QueryConfig(timeout=0.2), Endless)) as client:
        assert client.get("/api/v1/totals").status_code == 504
    assert Endless.ended.is_set()
    assert "longer than 0.2 s" in Endless.reason


def test_a_question_ends_when_its_client_goes_away(store: Store) -> None:
    with client_of(build(store, QueryConfig(timeout=60), Endless)) as client:
        host, port = client.base_url.host, client.base_url.port
        with socket.create_connection((host, port or 0)) as connection:
            connection.sendall(b"GET /api/v1/totals HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert Endless.begun.wait(10)
        assert Endless.ended.wait(10), "the question goes on without anybody waiting"
    assert "the client went away" in Endless.reason


@pytest.mark.slow
def test_those_that_wait_are_bounded(store: Store) -> None:
    """And are told when to come again."""
    app = build(store, QueryConfig(timeout=4, concurrency=1), Endless)
    answers: list[httpx.Response] = []
    with client_of(app) as client:
        threads = [
            threading.Thread(target=lambda: answers.append(client.get("/api/v1/totals")))
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    refused = [answer for answer in answers if answer.status_code == 503]
    assert len(refused) == 3, "one runs, sixteen wait"
    assert all(answer.headers["Retry-After"] == "1" for answer in refused)
    assert {answer.status_code for answer in answers} == {503, 504}


@pytest.mark.parametrize(
    "name", ["totals", "profile", "diff", "values", "behind", "sessions/{session:anything}"]
)
def test_rows_are_bounded(store: Store, name: str) -> None:
    """Whatever the statement: what it may give is counted before it is read."""
    target = QUESTIONS[f"/api/v1/{name}"]
    with client_of(build(store, QueryConfig(max_stacks=1))) as client:
        answer = client.get(target)
    assert answer.status_code == 400, answer.text
    assert "query.max_stacks" in answer.json()["error"]


def test_a_list_of_sessions_needs_no_more_rows_than_it_shows(store: Store) -> None:
    with client_of(build(store, QueryConfig(max_stacks=1))) as client:
        found = client.get("/api/v1/sessions?limit=1").json()
    assert (len(found["sessions"]), found["not_shown"]) == (1, 1)


@pytest.mark.parametrize("field", ["agent", "path", "token_kind"])
def test_expressions_take_linear_time(tmp_path: Path, field: str) -> None:
    """Python's matcher would take a minute for this one on "", and longer on the name of a part."""
    store = open_filled(tmp_path / "w.duckdb", [made(1, 1, agent=None)])
    questions = StoreQuestions(store, Config(), lambda: NOW)
    began = time.monotonic()
    with suppress(NothingMatched):
        questions.profile(ProfileRequest(filter=Filter((rf"{field}=~(q?|z?){{27}}\b$",))), "json")
    assert time.monotonic() - began < 5
    store.close()
