"""What every answer tells a browser: run nothing but our own scripts, ask nobody else, guess no type."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from whyflame.fold import svg

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SafeHeaders"]

_COMMON = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    f"img-src 'self'; connect-src 'self'; {_CLOSED}",
    "Cache-Control": "no-cache",
}
_PAGE_FOLDER = "/static/"


class SafeHeaders:
    """Middleware: a content security policy for the page, a closed one for all other answers.

    A flame graph as SVG is a document of our origin whose names come from telemetry: they are escaped,
    and by its policy only the script that every such file carries would run.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._page = _COMMON | _PAGE
        self._others = _COMMON | {
            "Content-Security-Policy": f"default-src 'none'; script-src {_hash_of(svg.script())}; "
            f"style-src 'unsafe-inline'; {_CLOSED}"
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the headers of the path."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        is_page = path == "/" or path.startswith(_PAGE_FOLDER)
        added = self._page if is_page else self._others

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(added)
            await send(message)

        await self._app(scope, receive, send_safely)


def _hash_of(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
