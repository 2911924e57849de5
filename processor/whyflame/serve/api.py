"""HTTP on :4319: the JSON API, health, metrics and the page.

Answers are made in worker threads, since DuckDB blocks; errors are JSON `{"error", "code"}` where
`code` is the exit code the same question has on the command line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from whyflame import telemetry
from whyflame.config.tokens import BearerTokens
from whyflame.errors import Backpressure, NothingMatched, UsageError, WhyflameError
from whyflame.fold.encode import ENCODINGS
from whyflame.fold.names import unknown_name
from whyflame.serve.access import RequireToken
from whyflame.serve.differences import DIFF_ENCODINGS, UNITS
from whyflame.serve.page import render_page
from whyflame.serve.questions import DiffRequest, Filter, ProfileRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.requests import Request

    from whyflame.serve.questions import Questions

__all__ = ["Actions", "build_api"]

MAX_BODY_BYTES = 64 << 20
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Actions:
    """What the API may do beside answering; the store process fills it in.

    Args:
        is_ready: For /readyz. ingest: Journals one OTLP body (signal, bytes).
        segment: Settles and segments now, optionally only one session; returns what it did.
    """

    def __init__(
        self,
        is_ready: Callable[[], bool],
        ingest: Callable[[str, bytes], None],
        segment: Callable[[str | None, str | None], dict[str, Any]],
    ) -> None:
        self.is_ready = is_ready
        self.ingest = ingest
        self.segment = segment


def build_api(
    questions: Questions, actions: Actions, metrics_dir: Path | None, tokens_file: str = ""
) -> Starlette:
    """The ASGI application.

    Args:
        questions: Who answers. actions: What else may be asked for.
        metrics_dir: Shared metrics of all processes; None for this one alone.
        tokens_file: File of bearer tokens that may read; empty for everyone.
    """
    api = _Api(questions, actions, metrics_dir)
    return Starlette(
        routes=[
            Route("/", api.page),
            Route("/healthz", api.healthz),
            Route("/readyz", api.readyz),
            Route("/metrics", api.metrics),
            Route("/api/v1/totals", api.totals),
            Route("/api/v1/profile", api.profile),
            Route("/api/v1/diff", api.diff),
            Route("/api/v1/sessions", api.sessions),
            Route("/api/v1/sessions/{session:path}", api.session),
            Route("/api/v1/status", api.status),
            Route("/api/v1/import", api.ingest, methods=["POST"]),
            Route("/api/v1/segment", api.segment, methods=["POST"]),
        ],
        middleware=[Middleware(RequireToken, tokens=BearerTokens(tokens_file))],
        exception_handlers={WhyflameError: _answer_error},
    )


class _Api:
    """The handlers."""

    def __init__(self, questions: Questions, actions: Actions, metrics_dir: Path | None) -> None:
        self._questions = questions
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
        by = tuple(_many(request, "by"))
        return _json(await run_in_threadpool(self._questions.totals, by, _filter(request)))

    async def profile(self, request: Request) -> Response:
        encoding = request.query_params.get("format", "json")
        if encoding not in ENCODINGS:
            raise UsageError(f"unknown format {encoding!r}; known: {', '.join(ENCODINGS)}")
        body = await run_in_threadpool(self._questions.profile, _profile_request(request), encoding)
        return Response(body, headers={"Content-Type": ENCODINGS[encoding].media_type})

    async def diff(self, request: Request) -> Response:
        query = request.query_params
        encoding, unit = query.get("format", "json"), query.get("per", "run")
        if unit not in UNITS:
            raise unknown_name("unit", unit, UNITS)
        asked = DiffRequest(
            profile=_profile_request(request),
            base=tuple(query.getlist("base")),
            target=tuple(query.getlist("target")),
            unit=unit,
            pair_by=query.get("pair_by"),
        )
        body = await run_in_threadpool(self._questions.diff, asked, encoding)
        return Response(body, headers={"Content-Type": DIFF_ENCODINGS[encoding]})

    async def sessions(self, request: Request) -> Response:
        limit = _number(request, "limit", 100)
        return _json(await run_in_threadpool(self._questions.sessions, _filter(request), limit))

    async def session(self, request: Request) -> Response:
        session = request.path_params["session"]
        return _json(await run_in_threadpool(self._questions.session, session))

    async def status(self, _: Request) -> Response:
        return _json(await run_in_threadpool(self._questions.status))

    async def page(self, request: Request) -> Response:
        body = await run_in_threadpool(render_page, self._questions, _profile_request(request))
        return Response(body, media_type="text/html; charset=utf-8", headers=SECURITY_HEADERS)

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
        await run_in_threadpool(self._actions.ingest, signal, body)
        return _json({"accepted": len(body)})

    async def segment(self, request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return _error("send application/json", 2, 415)
        session = request.query_params.get("session")
        segmenter = request.query_params.get("segmenter")
        return _json(await run_in_threadpool(self._actions.segment, session, segmenter))


async def _bounded_body(request: Request) -> bytes | None:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _many(request: Request, name: str) -> list[str]:
    """Values of a repeatable, comma-separated parameter."""
    texts = request.query_params.getlist(name)
    return [item.strip() for text in texts for item in text.split(",") if item.strip()]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise UsageError(f"{name} is a whole number, not {text!r}")
    return int(text)


def _filter(request: Request) -> Filter:
    query = request.query_params
    return Filter(tuple(query.getlist("where")), query.get("since"), query.get("until"))


def _profile_request(request: Request) -> ProfileRequest:
    query = request.query_params
    return ProfileRequest(
        view=query.get("view", "tokens"),
        measure=query.get("measure"),
        stack=tuple(_many(request, "stack")),
        labels=tuple(_many(request, "labels")),
        filter=_filter(request),
    )


def _json(content: Any) -> Response:
    return Response(json.dumps(content, ensure_ascii=False), media_type="application/json")


def _error(message: str, code: int, status: int) -> Response:
    return JSONResponse({"error": message, "code": code}, status_code=status)


def _answer_error(_: Request, error: Exception) -> Response:
    """One place maps errors to HTTP."""
    if isinstance(error, UsageError):
        return _error(str(error), error.exit_code, 400)
    if isinstance(error, NothingMatched):
        return _error(str(error), error.exit_code, 404)
    if isinstance(error, Backpressure):
        answer = _error(str(error), error.exit_code, 503)
        answer.headers["Retry-After"] = str(max(1, round(error.retry_after_seconds)))
        return answer
    code = error.exit_code if isinstance(error, WhyflameError) else 1
    return _error(str(error), code, 500)
