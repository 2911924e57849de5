"""Bounds of one question: time, memory, rows, waiting, and nobody left to hear the answer."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tests.made import SECOND
from tests.query_server import RANGE, TOKENS, QueryServer, made, open_filled, run_app, serving

from whyflame.config import Config, QueryConfig
from whyflame.errors import QueryStopped, QueryTooLarge, WhyflameError
from whyflame.serve.pyroscope.connect import error_answer, timeout_of
from whyflame.serve.runner import Runner
from whyflame.store.duck import Store
from whyflame.store.running import RunningQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

# Minutes of work, in pieces that notice an interrupt at once.
FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"
SELECTION = {"profileTypeID": TOKENS, "labelSelector": "{}", **RANGE}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_filled(tmp_path / "w.duckdb", [made(1, n, f"task {n}") for n in range(5)])
    yield opened
    opened.close()


class Slow:
    """An application whose one answer takes for ever, run by the real runner."""

    def __init__(self, store: Store, settings: QueryConfig) -> None:
        self.runner = Runner(store, settings)
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.reason = ""

    async def handle(self, request: Request) -> Response:
        try:
            await self.runner.run(request, self._work, timeout_of(request))
        except WhyflameError as error:
            return error_answer(error)
        return PlainTextResponse("done")

    def _work(self, running: RunningQuery) -> None:
        self.begun.set()
        try:
            running.rows(FOREVER)
        except QueryStopped as error:
            self.reason = str(error)
            raise
        finally:
            self.ended.set()

    @contextmanager
    def serving(self) -> Iterator[str]:
        with run_app(Starlette(routes=[Route("/", self.handle, methods=["GET", "POST"])])) as url:
            yield url


def ask(server: QueryServer, **more: Any) -> httpx.Response:
    return server.ask("SelectMergeStacktraces", {**SELECTION, **more})


def test_a_question_that_takes_too_long_is_stopped(store: Store) -> None:
    slow = Slow(store, QueryConfig(timeout=0.2))
    with slow.serving() as url:
        answer = httpx.get(url, timeout=20)
    assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")
    assert "longer than 0.2 s" in answer.json()["message"]
    assert slow.ended.is_set()


def test_a_question_ends_when_its_client_goes_away(store: Store) -> None:
    slow = Slow(store, QueryConfig(timeout=60))
    with slow.serving() as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert slow.begun.wait(10)
        assert slow.ended.wait(10), "the query goes on without anybody waiting"
    assert "the client went away" in slow.reason


@pytest.mark.parametrize(("ours", "theirs"), [(60.0, "200"), (0.2, "60000")])
def test_the_earlier_deadline_counts(store: Store, ours: float, theirs: str) -> None:
    """`Connect-Timeout-Ms` shortens the time, and never lengthens it."""
    slow = Slow(store, QueryConfig(timeout=ours))
    with slow.serving() as url:
        answer = httpx.get(url, timeout=20, headers={"Connect-Timeout-Ms": theirs})
    assert answer.status_code == 504
    assert "longer than 0.2 s" in answer.json()["message"]


def test_a_deadline_that_is_no_number_is_refused(store: Store) -> None:
    with serving(store) as server:
        wrong = server.ask("SelectMergeStacktraces", SELECTION, **{"Connect-Timeout-Ms": "soon"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_argument")


def test_those_that_wait_are_bounded_and_time_out_too(store: Store) -> None:
    slow = Slow(store, QueryConfig(timeout=4.0, concurrency=1))
    with slow.serving() as url, httpx.Client(timeout=20, limits=httpx.Limits()) as client:
        answers: list[int] = []

        def get() -> None:
            answers.append(client.get(url).status_code)

        threads = [threading.Thread(target=get) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(answers) == {503, 504}
    assert answers.count(503) == 3, "one runs, sixteen wait"


def test_more_stacks_than_allowed_are_refused(store: Store) -> None:
    with serving(store, Config(query=QueryConfig(max_stacks=4))) as server:
        answer = ask(server)
        assert (answer.status_code, answer.json()["code"]) == (429, "resource_exhausted")
        assert "query.max_stacks" in answer.json()["message"]
        assert ask(server, labelSelector='{task!="task 1"}').status_code == 200


def test_label_values_are_the_newest_ones(tmp_path: Path) -> None:
    operations = [made(1, n, f"task {n}", end_ns=made(1, n).span.end_ns + SECOND) for n in range(9)]
    store = open_filled(tmp_path / "w.duckdb", operations)
    with serving(store, Config(query=QueryConfig(max_label_values=3))) as server:
        for label in ("task", "path"):
            found = server.answer("LabelValues", name=label, **RANGE)["names"]
            assert found == ["task 6", "task 7", "task 8"]
    store.close()


def test_memory_is_bounded(tmp_path: Path) -> None:
    store = Store(tmp_path / "w.duckdb", memory_limit=32 << 20)
    running = RunningQuery(store, 1000)
    with pytest.raises(QueryTooLarge, match=r"store\.memory_limit"):
        running.rows("SELECT len(list(range)) FROM range(100000000)")
    assert running.rows("SELECT 1") == [(1,)], "the store lives on"
    running.close()
    store.close()


def test_a_stopped_question_runs_nothing_more(store: Store) -> None:
    running = RunningQuery(store, 1000)
    running.stop("enough")
    with pytest.raises(QueryStopped, match="enough"):
        running.rows("SELECT 1")
    running.close()
    running.stop("closed cursors are left alone")


def test_a_fault_in_the_store_is_no_leak(store: Store) -> None:
    """The client learns that the query failed, not what was in it."""
    running = RunningQuery(store, 1000)
    with pytest.raises(WhyflameError, match="CatalogException"):
        running.rows("SELECT secret FROM nowhere")
    running.close()


def test_a_stop_at_any_moment_ends_a_question_soon(store: Store) -> None:
    """Also when it falls between two statements: the runner asks again."""
    for delay in (0.0, 0.001, 0.01):
        slow = Slow(store, QueryConfig(timeout=max(delay, 0.0001)))
        with slow.serving() as url:
            begun = time.monotonic()
            assert httpx.get(url, timeout=20).status_code == 504
            assert time.monotonic() - begun < 5


@pytest.mark.parametrize("size", [5 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_large_requests_are_refused(server: QueryServer, size: int, packed: bool) -> None:
    import gzip

    body = b'{"name":"' + b"x" * size + b'"}'
    headers = {"Content-Encoding": "gzip"} if packed else {}
    body = gzip.compress(body) if packed else body
    answer = server.call("LabelValues", body, "application/json", **headers)
    assert answer.json()["code"] == "resource_exhausted"


def test_compressions(server: QueryServer) -> None:
    import gzip
    import json

    body = gzip.compress(json.dumps(SELECTION).encode())
    method, kind = "SelectMergeStacktraces", "application/json; charset=utf-8"
    assert server.call(method, body, kind, **{"Content-Encoding": "gzip"}).status_code == 200
    for broken in (b"no gzip", body[:-9]):
        answer = server.call(method, broken, kind, **{"Content-Encoding": "gzip"})
        assert answer.json()["code"] == "invalid_argument"
    zstd = server.call(method, body, kind, **{"Content-Encoding": "zstd"})
    assert zstd.json()["code"] == "unimplemented"
    assert server.call(method, b"{}", "application/json; charset=latin1").status_code == 415


@pytest.mark.parametrize("label", ["agent", "__name__", "trace_id", "no_such_label"])
def test_expressions_take_linear_time(server: QueryServer, label: str) -> None:
    """What would keep Python's matcher busy for ages is no trouble for the store's."""
    graph = server.graph(selector=f'{{{label}=~"(.+)+#"}}')
    assert "total" not in graph
    bad = {"profileTypeID": TOKENS, **RANGE}
    for pattern in ("(", "(?=x)", "x{99999}"):
        answer = server.ask(
            "SelectMergeStacktraces", {**bad, "labelSelector": f'{{{label}=~"{pattern}"}}'}
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")


# Python's matcher takes twice as long for every one more of these: a day for 40, on "".
NEVER_ENDING = r"(a?|b?){27}\\b"


@pytest.mark.parametrize("label", ["agent", "path", "task", "turn", "promoted", "trace_id"])
def test_expressions_take_linear_time_on_what_is_unknown_too(tmp_path: Path, label: str) -> None:
    operations = [made(1, n, f"task {n}", agent=None) for n in range(5)]
    store = open_filled(tmp_path / "w.duckdb", operations)
    settings = Config(fields={"promoted": "resource.promoted"})
    with serving(store, settings) as running:
        began = time.monotonic()
        for operator in ("=~", "!~"):
            running.graph(selector=f'{{{label}{operator}"{NEVER_ENDING}"}}')
        assert time.monotonic() - began < 5
    store.close()


def test_series_are_counted_as_they_are_answered(
    server: QueryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without types among the labels, those of a session are not many series but one."""
    monkeypatch.setattr("whyflame.serve.pyroscope.labelling.MAX_SERIES", 2)
    found = server.answer("Series", **RANGE, labelNames=["session"])["labelsSet"]
    assert len(found) == 2
    wide = {**RANGE, "labelNames": ["session", "__profile_type__"]}
    answer = server.ask("Series", wide)
    assert (answer.status_code, answer.json()["code"]) == (429, "resource_exhausted")
