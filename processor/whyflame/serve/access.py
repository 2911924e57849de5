"""Who may read, and whose data: in front of everything but health and the page's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from whyflame.errors import PermanentError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whyflame.config.callers import Callers

__all__ = ["RequireToken", "refusal", "tenant_of"]

# The page holds no data: it asks for a token and sends it with every question.
OPEN_PATHS = frozenset({"/", "/healthz", "/readyz"})
OPEN_FOLDER = "/static/"
FORGET_PATH = "/api/v1/forget"
OUTBOX_PATH = "/api/v1/outbox"
METRICS_PATH = "/metrics"
PYROSCOPE_FOLDERS = (
    "/querier.v1.",
    "/settings.v1.",
    "/vcs.v1.",
    "/adhocprofiles.v1.",
    "/pyroscope/",
)
_KEY = "whyflame.tenant"


def tenant_of(request: Request) -> str:
    """The tenant that the caller may see and no other; "" without tenancy."""
    return str(request.scope[_KEY])


class RequireToken:
    """Middleware: 401 without a valid `Authorization: Bearer` header, where tokens are configured.

    Args:
        app: What is protected. readers: Who may read.
        eraser: Who may forget; None for everyone who may read.
    """

    def __init__(self, app: ASGIApp, readers: Callers, eraser: Callers | None = None) -> None:
        self._app = app
        self._readers = readers
        self._eraser = eraser or readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on with its tenant."""
        if scope["type"] == "http" and not _is_open(scope["path"]):
            headers = Headers(scope=scope)
            path = scope["path"]
            callers = self._eraser if _is_erasing(scope) else self._readers
            try:
                # Metrics tell about the process, not about a tenant.
                ask = _only_demand if path == METRICS_PATH else _identify
                scope[_KEY] = await run_in_threadpool(ask, callers, headers)
            except PermanentError as error:
                await _refuse(error, path)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_erasing(scope: Scope) -> bool:
    """Whether the request may remove something for good."""
    path: str = scope["path"]
    return path.startswith(FORGET_PATH) or (path == OUTBOX_PATH and scope["method"] == "POST")


def _only_demand(callers: Callers, headers: Headers) -> str:
    return callers.demand(headers.get("authorization"))


def _identify(callers: Callers, headers: Headers) -> str:
    # A header given twice is no valid tenant: nobody can slip one past a proxy's own.
    named = ",".join(headers.getlist(callers.header)) if callers.header else None
    return callers.identify(headers.get("authorization"), named)


def _refuse(error: PermanentError, path: str) -> JSONResponse:
    needs_token = error.reason == "unauthenticated"
    message = "give a bearer token (--token-file)" if needs_token else str(error)
    if path.startswith(PYROSCOPE_FOLDERS) and not needs_token:
        message = "no org id"  # Grafana's page takes this one for "name a tenant"
    answer = refusal(path, message, "unauthenticated", 401)
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def refusal(path: str, message: str, code: str, status: int) -> JSONResponse:
    """An answer to a request that gets no further; Grafana reads errors as Pyroscope writes them."""
    body: dict[str, str | int] = {"error": message, "code": 1}
    if path.startswith(PYROSCOPE_FOLDERS):
        body = {"code": code, "message": message}
    return JSONResponse(body, status_code=status)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)
