"""Who may read: bearer tokens in front of everything but health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whyflame.config.tokens import BearerTokens

__all__ = ["RequireToken"]

OPEN_PATHS = frozenset({"/healthz", "/readyz"})


class RequireToken:
    """Middleware: 401 without a valid `Authorization: Bearer` header, where tokens are configured.

    Args:
        app: What is protected. tokens: The accepted tokens; none configured = open.
    """

    def __init__(self, app: ASGIApp, tokens: BearerTokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            headers = dict(scope["headers"])
            given = headers.get(b"authorization", b"").decode("latin-1")
            if not await run_in_threadpool(self._tokens.allows, given):
                answer = JSONResponse(
                    {"error": "give a bearer token (--token-file)", "code": 1},
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
