"""Under which names the server answers: what stops a foreign page that points its own name at it.

A browser lets a page read what it gets from its own name. Whoever owns a name may let it point to
127.0.0.1 once the page is loaded (DNS rebinding), and the page then reads the user's own server. The
`Host` header still carries the foreign name.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from whyflame.config import parse_address
from whyflame.serve.access import refusal

if TYPE_CHECKING:
    from starlette.responses import JSONResponse
    from starlette.types import ASGIApp, Receive, Scope, Send

    from whyflame.config import HttpConfig

__all__ = ["CheckHost", "known_names"]

_LOCAL = "localhost"


def known_names(settings: HttpConfig) -> frozenset[str] | None:
    """Names that the server answers under, beside addresses and localhost; None for any name."""
    listens_on, _ = parse_address(settings.listen)
    if not (settings.allowed_hosts or _is_loopback(listens_on)):
        return None
    return frozenset(_plain(name) for name in (*settings.allowed_hosts, listens_on))


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
        if scope["type"] == "http":
            for host in Headers(scope=scope).getlist("host"):
                if not self._is_known(_without_port(host)):
                    await _refuse(scope["path"])(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _is_known(self, name: str) -> bool:
        # An address is no name that somebody could have pointed elsewhere.
        return name in self._names or _is_local(name) or _is_address(name)


def _refuse(path: str) -> JSONResponse:
    message = "this server is not known under that name: add it to http.allowed_hosts"
    return refusal(path, message, "permission_denied", 403)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    is_port = colon and port.isdecimal() and (":" not in name or name.endswith("]"))
    return _plain(name if is_port else host)


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _is_local(name: str) -> bool:
    return name == _LOCAL or name.endswith(f".{_LOCAL}")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_local(_plain(name)) or (_is_address(name) and ip_address(name).is_loopback)
