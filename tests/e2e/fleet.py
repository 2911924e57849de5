"""A server over some of the demo's recorded agents, for tests that look at it with a browser."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import httpx
from tests.query_server import run_app

from whyflame import demo_data
from whyflame.app.build import now_ns, open_store
from whyflame.app.offline import import_captures
from whyflame.config import Config, HttpConfig
from whyflame.serve.api import Actions, build_api
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LINKS = {"Tempo": "http://localhost:3000/trace/{trace_id}", "Odd": "javascript:alert({span_id})"}


@dataclass(frozen=True)
class Fleet:
    """A running server.

    Attributes:
        url: Where the page is.
    """

    url: str

    def get(self, path: str, **parameters: Any) -> Any:
        """JSON of an answer, asked for without a browser."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def totals(self, **parameters: Any) -> dict[str, Any]:
        """The one row of totals."""
        row: dict[str, Any] = self.get("totals", **parameters)["rows"][0]
        return row


def no_actions() -> Actions:
    """A server that only answers."""
    return Actions(lambda: True, lambda *_: None, lambda *_: {})


@contextmanager
def serve_fleet(folder: Path, requests: int) -> Iterator[Fleet]:
    """The application over a new store with the first requests of the demo's recording."""
    with serve_requests(folder, islice(demo_data.requests(), requests)) as fleet:
        yield fleet


@contextmanager
def serve_requests(folder: Path, requests: Iterable[tuple[str, bytes]]) -> Iterator[Fleet]:
    """The application over a new store with these requests."""
    config = Config(http=HttpConfig(trace_links=LINKS))
    import_captures(folder, config, requests)
    store = open_store(folder, config)
    try:
        questions, runner = StoreQuestions(store, config, now_ns), Runner(store, config.query)
        with run_app(build_api(questions, runner, no_actions(), None)) as url:
            yield Fleet(url)
    finally:
        store.close()
