"""HTTP on :4319: the JSON API, health, metrics and the page.

Answers are made in worker threads, since DuckDB blocks; errors are JSON `{"error", "code"}` where
`code` is the exit code the same question has on the command line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from whyflame import telemetry
from whyflame.config import AuthConfig, HttpConfig
from whyflame.config.callers import Callers
from whyflame.config.hosts import known_names
from whyflame.errors import (
    Backpressure,
    NothingMatched,
    PermanentError,
    QueryStopped,
    QueryTooLarge,
    UsageError,
    WhyflameError,
)
from whyflame.fold.encode import ENCODINGS
from whyflame.fold.names import unknown_name
from whyflame.serve.access import FORGET_PATH, RequireToken, tenant_of
from whyflame.serve.answering import Answering
from whyflame.serve.differences import DIFF_ENCODINGS, UNITS
from whyflame.serve.headers import SafeHeaders
from whyflame.serve.hosts import CheckHost
from whyflame.serve.openapi import openapi_routes
from whyflame.serve.page import page_routes
from whyflame.serve.parameters import (
    json_answer,
    read_filter,
    read_many,
    read_number,
    read_profile_request,
)
from whyflame.serve.questions import DiffRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from whyflame.serve.questions import PageQuestions
    from whyflame.serve.runner import Runner

__all__ = ["Actions", "build_api"]

MAX_BODY_BYTES = 64 << 20


class _Anything(Convertor[str]):
    """A rest of a path, slashes and line ends included: sessions may be called so."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())


class Actions:
    """What the API may do beside answering; the store process fills it in.

    Args:
        is_ready: For /readyz. ingest: Journals one OTLP body (signal, bytes, tenant).
        segment: Settles and segments now (session or None, segmenter or None, tenant); returns
            what it did.
        forget: Takes note of (session or None, user or None, tenant) and returns an id.
        forgotten: What came of (id, tenant); None while it waits. Without them: 404.
    """

    def __init__(
        self,
        is_ready: Callable[[], bool],
        ingest: Callable[[str, bytes, str], None],
        segment: Callable[[str | None, str | None, str], dict[str, Any]],
        forget: Callable[[str | None, str | None, str], str] | None = None,
        forgotten: Callable[[str, str], dict[str, Any] | None] | None = None,
    ) -> None:
        self.is_ready = is_ready
        self.ingest = ingest
        self.segment = segment
        self.forget = forget
        self.forgotten = forgotten


def build_api(
    questions: PageQuestions,
    runner: Runner,
    actions: Actions,
    metrics_dir: Path | None,
    http: HttpConfig | None = None,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """The ASGI application.

    Args:
        questions: Who answers. runner: What bounds every question.
        actions: What else may be asked for.
        metrics_dir: Shared metrics of all processes; None for this one alone.
        http: Who may read, and who may forget; everyone when not given.
        routes: Of further APIs, behind the same tokens.
    """
    answering = Answering(questions, runner)
    api = _Api(answering, actions, metrics_dir)
    return Starlette(
        routes=[
            *page_routes(questions, answering),
            Route("/healthz", api.healthz),
            Route("/readyz", api.readyz),
            Route("/metrics", api.metrics),
            Route("/api/v1/totals", api.totals),
            Route("/api/v1/profile", api.profile),
            Route("/api/v1/diff", api.diff),
            Route("/api/v1/sessions", api.sessions),
            Route("/api/v1/sessions/{session:anything}", api.session),
            Route("/api/v1/status", api.status),
            Route("/api/v1/import", api.ingest, methods=["POST"]),
            Route("/api/v1/segment", api.segment, methods=["POST"]),
            *api.forget_routes(),
            *openapi_routes(),
            *routes,
        ],
        middleware=_gates(http or HttpConfig()),
        exception_handlers={WhyflameError: _answer_error, HTTPException: _answer_misdirected},
    )


class _Api:
    """The handlers."""

    def __init__(self, answering: Answering, actions: Actions, metrics_dir: Path | None) -> None:
        self._ask = answering.ask
        self._actions = actions
        self._metrics_dir = metrics_dir

    async def healthz(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(self, _: Request) -> Response:
        if self._actions.is_ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready\n", status_code=503)

    async def metrics(self, _: Request) -> Response:
        body, media_type = await run_in_threadpool(telemetry.render, self._metrics_dir)
        return Response(body, headers={"Content-Type": media_type})

    async def totals(self, request: Request) -> Response:
        by, chosen = read_many(request, "by"), read_filter(request)
        wants_coverage = request.query_params.get("coverage", "true") != "false"

        def answer(asked: PageQuestions) -> dict[str, Any]:
            return asked.totals(by, chosen) if wants_coverage else asked.sums(by, chosen)

        return json_answer(await self._ask(request, answer))

    async def profile(self, request: Request) -> Response:
        encoding = request.query_params.get("format", "json")
        if encoding not in ENCODINGS:
            raise UsageError(f"unknown format {encoding!r}; known: {', '.join(ENCODINGS)}")
        wanted = read_profile_request(request)
        body = await self._ask(request, lambda asked: asked.profile(wanted, encoding))
        return Response(body, headers={"Content-Type": ENCODINGS[encoding].media_type})

    async def diff(self, request: Request) -> Response:
        query = request.query_params
        encoding, unit = query.get("format", "json"), query.get("per", "run")
        if unit not in UNITS:
            raise unknown_name("unit", unit, UNITS)
        wanted = DiffRequest(
            profile=read_profile_request(request),
            base=tuple(query.getlist("base")),
            target=tuple(query.getlist("target")),
            base_times=(query.get("base_since"), query.get("base_until")),
            target_times=(query.get("target_since"), query.get("target_until")),
            unit=unit,
            pair_by=query.get("pair_by"),
        )
        body = await self._ask(request, lambda asked: asked.diff(wanted, encoding))
        return Response(body, headers={"Content-Type": DIFF_ENCODINGS[encoding]})

    async def sessions(self, request: Request) -> Response:
        limit, chosen = read_number(request, "limit", 100), read_filter(request)
        return json_answer(await self._ask(request, lambda asked: asked.sessions(chosen, limit)))

    async def session(self, request: Request) -> Response:
        session, tenant = request.path_params["session"], tenant_of(request)
        return json_answer(await self._ask(request, lambda asked: asked.session(session, tenant)))

    async def status(self, request: Request) -> Response:
        tenant = tenant_of(request)
        return json_answer(await self._ask(request, lambda asked: asked.status(tenant)))

    async def ingest(self, request: Request) -> Response:
        # Not a content type a foreign web page may send without being asked for permission first.
        if request.headers.get("content-type") != "application/x-protobuf":
            return _error("send OTLP protobuf as application/x-protobuf", 2, 415)
        signal = request.query_params.get("signal", "traces")
        if signal not in {"traces", "logs", "metrics"}:
            raise UsageError(f"unknown signal {signal!r}; known: traces, logs, metrics")
        body = await _bounded_body(request)
        if body is None:
            return _error(f"larger than {MAX_BODY_BYTES} bytes", 2, 413)
        await run_in_threadpool(self._actions.ingest, signal, body, tenant_of(request))
        return json_answer({"accepted": len(body)})

    def forget_routes(self) -> list[Route]:
        """None where nothing can be forgotten."""
        if self._actions.forget is None:
            return []
        return [
            Route(FORGET_PATH, self.forget, methods=["POST"]),
            Route(f"{FORGET_PATH}/{{id}}", self.forgotten),
        ]

    async def forget(self, request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return _error("send application/json", 2, 415)
        body = await _bounded_body(request) or b""
        session, user = _session_or_user(body)
        forget = self._actions.forget
        if forget is None:
            raise NothingMatched("nothing can be forgotten here")
        noted = await run_in_threadpool(forget, session, user, tenant_of(request))
        return JSONResponse({"id": noted}, status_code=202)

    async def forgotten(self, request: Request) -> Response:
        forgotten = self._actions.forgotten
        if forgotten is None:
            raise NothingMatched("nothing can be forgotten here")
        found = await run_in_threadpool(forgotten, request.path_params["id"], tenant_of(request))
        return json_answer({"state": "waiting"} if found is None else {"state": "done", **found})

    async def segment(self, request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return _error("send application/json", 2, 415)
        session = request.query_params.get("session")
        segmenter = request.query_params.get("segmenter")
        done = await run_in_threadpool(
            self._actions.segment, session, segmenter, tenant_of(request)
        )
        return json_answer(done)


def _session_or_user(body: bytes) -> tuple[str | None, str | None]:
    try:
        content = json.loads(body)
        session, user = content.get("session"), content.get("user")
    except (ValueError, RecursionError, AttributeError) as error:
        raise UsageError('send {"session": ID} or {"user": ID}') from error
    if not all(item is None or isinstance(item, str) for item in (session, user)):
        raise UsageError("session and user are texts")
    return session, user


def _gates(http: HttpConfig) -> list[Middleware]:
    has_eraser = http.forget != AuthConfig()
    eraser = Callers(http.forget) if has_eraser else None
    names = known_names(http.listen, http.allowed_hosts)
    return [
        Middleware(SafeHeaders),
        *([] if names is None else [Middleware(CheckHost, names=names)]),
        Middleware(RequireToken, readers=Callers(http.auth), eraser=eraser),
    ]


async def _bounded_body(request: Request) -> bytes | None:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _error(message: str, code: int, status: int) -> Response:
    return JSONResponse({"error": message, "code": code}, status_code=status)


def _answer_misdirected(request: Request, error: Exception) -> Response:
    """No such path, or not by this method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    text = error.detail if isinstance(error, HTTPException) else ""
    if not request.url.path.startswith("/api/v1/"):
        return PlainTextResponse(text, status_code=status, headers=headers)
    answer = _error(f"{request.method} {request.url.path}: {text}", 2, status)
    answer.headers.update(headers or {})
    return answer


def _answer_error(_: Request, error: Exception) -> Response:
    """One place maps errors to HTTP."""
    if isinstance(error, UsageError | QueryTooLarge):
        return _error(str(error), error.exit_code, 400)
    if isinstance(error, NothingMatched):
        return _error(str(error), error.exit_code, 404)
    if isinstance(error, QueryStopped):
        return _error(str(error), error.exit_code, 504)
    if isinstance(error, Backpressure):
        answer = _error(str(error), error.exit_code, 503)
        answer.headers["Retry-After"] = str(max(1, round(error.retry_after_seconds)))
        return answer
    code = error.exit_code if isinstance(error, WhyflameError) else 1
    return _error(str(error), code, 400 if isinstance(error, PermanentError) else 500)
