"""The description of the API holds for the server: schemathesis asks what the description allows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.closed_schema import closed
from tests.integration.serve.conftest import config, fleet
from tests.query_server import NOW, open_filled

from whyflame.config import HttpConfig
from whyflame.errors import UsageError
from whyflame.fold.encode import ENCODINGS
from whyflame.serve.api import Actions, build_api
from whyflame.serve.differences import DIFF_ENCODINGS
from whyflame.serve.openapi import description
from whyflame.serve.outbox import outbox_routes
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from starlette.applications import Starlette

pytestmark = pytest.mark.slow
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
OPERATIONS = [
    (method.upper(), path) for path, item in description()["paths"].items() for method in item
]
TAKES_ANYTHING = [
    (method.upper(), path)
    for path, item in description()["paths"].items()
    for method, operation in item.items()
    if "requestBody" in operation
    or any(parameter.get("in") != "path" for parameter in operation.get("parameters", ()))
]
GOOD = [
    "/api/v1/totals?by=agent,session&where=agent!%3D&since=2026-01-01&until=2027-01-01",
    "/api/v1/totals",
    "/api/v1/totals?coverage=false",
    *(f"/api/v1/profile?view=tokens&format={name}" for name in ENCODINGS),
    *(f"/api/v1/diff?base=agent%3Dcoder&target=agent%3Dplanner&format={name}" for name in DIFF_ENCODINGS),
    "/api/v1/sessions?limit=1",
    "/api/v1/sessions/s1",
    "/api/v1/sessions/none",
    "/api/v1/status",
    "/api/v1/options",
    "/api/v1/values?field=agent",
    "/api/v1/behind?frame=coder",
    "/api/v1/behind?frame=run bash&anywhere=true",
    "/api/v1/behind?frame=coder&session=s2&anywhere=true",
    "/api/v1/coverage",
    "/api/v1/outbox?state=dead&limit=5&exporter=x",
    "/api/v1/openapi.json",
]  # fmt: skip


SERVING = {
    "unsettled_traces": 0,
    "journal_losses": {"corrupt_frames": 0, "torn_tails": 0, "skipped_bytes": 0},
    "native": "not installed",
    "otlp": {"grpc": "127.0.0.1:4317", "http": "127.0.0.1:4318", "tls": False, "token": False},
}
"""What a running server adds to `status` (the real one: test_mounted.py)."""


@schemathesis.serializer("application/x-protobuf")
def _protobuf(_: Any, value: Any) -> bytes:
    """Bodies of any bytes."""
    return bytes(getattr(value, "data", b""))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starlette]:
    """The API over the small fleet; what changes something only takes note."""
    store = open_filled(tmp_path_factory.mktemp("api") / "w.duckdb", fleet())

    def forget(session: str | None, user: str | None, _: str) -> str:
        if (session is None) is (user is None):
            raise UsageError("name a session or a user")
        return "1"

    actions = Actions(
        lambda: True,
        lambda *_: None,
        lambda *_: {"traces": 0, "operations": 0, "unstored_bytes": 0},
        forget,
        lambda *_: None,
    )
    runner = Runner(store, config().query)
    routes = outbox_routes(store, runner, lambda: NOW, nullcontext)
    questions = StoreQuestions(store, config(), lambda: NOW, lambda: SERVING)
    routes += [Route("/closed.json", lambda _: JSONResponse(closed(description())))]
    # What the test client calls the server.
    http = HttpConfig(allowed_hosts=["testserver"])
    yield build_api(questions, runner, actions, None, http, routes)
    store.close()


@pytest.fixture(scope="module")
def schema(app: Starlette) -> Any:
    return schemathesis.openapi.from_asgi("/closed.json", app)


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [(*operation, schemathesis.GenerationMode.POSITIVE) for operation in OPERATIONS]
    + [(*operation, schemathesis.GenerationMode.NEGATIVE) for operation in TAKES_ANYTHING],
)
def test_every_operation_answers_as_described(
    schema: Any, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    """With what the description allows, and with what it does not."""
    operation = schema[path][method]

    @settings(
        max_examples=20,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()


@pytest.mark.parametrize("target", GOOD)
def test_good_questions_answer_as_described(app: Starlette, schema: Any, target: str) -> None:
    """Random questions are mostly wrong ones; these are not."""
    path, _, query = target.partition("?")
    described, parameters = path, {}
    if path.startswith("/api/v1/sessions/"):
        described, parameters = "/api/v1/sessions/{session}", {"session": path.rpartition("/")[2]}
    pairs = [pair.partition("=")[::2] for pair in query.split("&")] if query else []
    case = schema[described]["GET"].Case(path_parameters=parameters, query={})
    from urllib.parse import unquote

    case.query.update({name: unquote(value) for name, value in pairs})
    response = case.call_and_validate(checks=CHECKS)
    assert response.status_code == (404 if path.endswith("none") else 200), response.text


def test_every_route_is_described(app: Starlette) -> None:
    """And nothing else is."""
    routes = {
        (method, route.path.replace(":anything", ""))
        for route in app.routes
        if isinstance(route, Route) and route.path.startswith("/api/v1/")
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert routes == set(OPERATIONS)


def test_choices_are_those_of_the_code() -> None:
    parameters = description()["paths"]["/api/v1/profile"]["get"]["parameters"]
    formats = next(item for item in parameters if item.get("name") == "format")
    assert formats["schema"]["enum"] == list(ENCODINGS)
