"""Every route that a server has, read from the application itself."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from starlette.routing import Mount

from whyflame.config import Config
from whyflame.serve.api import Actions, build_api
from whyflame.serve.outbox import outbox_routes
from whyflame.serve.pyroscope import pyroscope_routes
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions
from whyflame.store.duck import Store

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.routing import BaseRoute


def api_routes(folder: Path) -> list[tuple[str, frozenset[str]]]:
    """(path, methods) of every route on the HTTP port; a mounted folder has its path and GET."""
    store = Store(folder / "routes.duckdb")
    config = Config()
    actions = Actions(
        lambda: True, lambda *_: None, lambda *_: {}, lambda *_: "id", lambda *_: None
    )
    runner = Runner(store, config.query)
    app = build_api(
        StoreQuestions(store, config, lambda: 0),
        runner,
        actions,
        None,
        config.http,
        routes=[
            *pyroscope_routes(runner, config, lambda: 0),
            *outbox_routes(store, runner, lambda: 0, nullcontext),
        ],
    )
    found = [
        (_path(route), frozenset(getattr(route, "methods", None) or {"GET"}))
        for route in app.routes
    ]
    store.close()
    return found


def _path(route: BaseRoute) -> str:
    path = str(getattr(route, "path", ""))
    return f"{path}/" if isinstance(route, Mount) else path
