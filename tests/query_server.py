"""A real HTTP server over a small store, for tests of what it answers."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn

from tests.made import SECOND, T0, operation, span, write_settled
from whyflame.config import Config
from whyflame.serve.api import Actions, build_api
from whyflame.serve.pyroscope import pyroscope_routes
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions
from whyflame.store.duck import Store
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whyflame.model import Operation

NOW = T0 + 600 * SECOND
START_MS, END_MS = T0 // 1_000_000, NOW // 1_000_000
RANGE = {"start": START_MS, "end": END_MS}
TOKENS = "agent:tokens:count:agent:count"


def made(
    trace: int, number: int, path: str = "fix tests", tokens: int | None = 100, **fields: Any
) -> Operation:
    """One counted model call that ends `number` + 1 seconds after T0; fields of span or operation.

    Args:
        trace, number: Ids. path: Semantic path, `outer;inner`. tokens: All of them output.
    """
    of_span = {name: value for name, value in fields.items() if hasattr(_PLAIN, name)}
    of_span.setdefault("session", f"s{trace}")
    base = span(trace, number, input_uncached=None, output_visible=tokens, **of_span)
    made_of = operation(base)
    ours = {name: value for name, value in fields.items() if hasattr(made_of, name)}
    return operation(base, path=tuple(path.split(";")) if path else (), **ours)


_PLAIN = span(0, 0)


def open_filled(path: Path, operations: Sequence[Operation]) -> Store:
    """A store with these operations, settled."""
    store = Store(path)
    fill(store, operations)
    return store


def fill(store: Store, operations: Sequence[Operation]) -> None:
    """Write and settle operations."""
    SpanWriter(store).append([op.span for op in operations], {}, {})
    keys = sorted({op.span.trace_key for op in operations})
    group = Group(spans=[op.span for op in operations], trace_keys=keys)
    write_settled(SettledWriter(store), group, operations, [], T0)


@dataclass(frozen=True)
class QueryServer:
    """A running server and a client for it."""

    url: str
    http: httpx.Client
    store: Store

    def call(
        self, method: str, content: bytes, content_type: str, **headers: str
    ) -> httpx.Response:
        """One Connect request, as given."""
        return self.http.post(
            f"/querier.v1.QuerierService/{method}",
            content=content,
            headers={"Content-Type": content_type, **headers},
        )

    def ask(self, method: str, message: dict[str, Any], **headers: str) -> httpx.Response:
        """One Connect request in JSON."""
        return self.http.post(f"/querier.v1.QuerierService/{method}", json=message, headers=headers)

    def answer(self, method: str, **message: Any) -> dict[str, Any]:
        """The JSON of an answer that must be there."""
        response = self.ask(method, message)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def graph(self, type_id: str = TOKENS, selector: str = "{}", **more: Any) -> dict[str, Any]:
        """The flame graph of a SelectMergeStacktraces over the whole range."""
        message = {"profileTypeID": type_id, "labelSelector": selector, **RANGE, **more}
        return self.answer("SelectMergeStacktraces", **message)["flamegraph"]


def levels_of(graph: dict[str, Any]) -> list[list[int]]:
    """Levels as integers."""
    return [[int(value) for value in level["values"]] for level in graph["levels"]]


def stacks_of(graph: dict[str, Any]) -> dict[str, int]:
    """Self values by `a;b;c`, read back from the levels."""
    found: dict[str, int] = {}
    above = [(0, int(graph.get("total", 0)), "")]
    for depth, level in enumerate(levels_of(graph)):
        place, below = 0, []
        for x, total, own, name in zip(*(iter(level),) * 4, strict=True):
            start, place = place + x, place + x + total
            parent = next(p for s, e, p in above if s <= start and start + total <= e)
            path = "" if depth == 0 else f"{parent};{graph['names'][name]}".strip(";")
            if own:
                found[path] = found.get(path, 0) + own
            below.append((start, start + total, path))
        above = below
    return found


@contextmanager
def serving(store: Store, config: Config | None = None) -> Iterator[QueryServer]:
    """The real application on an ephemeral port."""
    config = config or Config()
    questions = StoreQuestions(store, config, lambda: NOW)
    runner = Runner(store, config.query)
    routes = pyroscope_routes(runner, config, lambda: NOW)
    actions = Actions(lambda: True, lambda *_: None, lambda *_: {})
    app = build_api(questions, runner, actions, None, config.http, routes)
    with run_app(app) as url, httpx.Client(base_url=url, timeout=20, trust_env=False) as client:
        yield QueryServer(url, client, store)


@contextmanager
def run_app(app: Any) -> Iterator[str]:
    """An ASGI application behind uvicorn, in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    )
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
