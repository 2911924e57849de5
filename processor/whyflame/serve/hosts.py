"""Refuses requests under names that the server is not known by (see `config.hosts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from whyflame.config.hosts import are_known
from whyflame.serve.access import refusal

if TYPE_CHECKING:
    from starlette.responses import JSONResponse
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["CheckHost"]


class CheckHost:
    """Middleware: 403 for a request that was sent to another name.

    Args:
        app: What is protected. names: See `known_names`.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, or pass the request on."""
        if scope["type"] == "http" and not are_known(
            Headers(scope=scope).getlist("host"), self._names
        ):
            await _refuse(scope["path"])(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _refuse(path: str) -> JSONResponse:
    message = "this server is not known under that name: add it to http.allowed_hosts"
    return refusal(path, message, "permission_denied", 403)
