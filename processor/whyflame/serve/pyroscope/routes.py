"""Mounts the methods and pages: HTTP in front, a thread for each question behind."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from whyflame.errors import WhyflameError
from whyflame.serve.access import tenant_of
from whyflame.serve.pyroscope import connect
from whyflame.serve.pyroscope.asking import Asking, Settings
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.methods import METHODS
from whyflame.serve.pyroscope.render import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from whyflame.config import Config
    from whyflame.serve.runner import Runner
    from whyflame.store.running import RunningQuery

__all__ = ["pyroscope_routes"]

_LOG = logging.getLogger(__name__)
_SERVICE = "/querier.v1.QuerierService/"
_KEPT_AT_A_SERVER = (
    "/settings.v1.SettingsService/Get",
    "/capabilities.v1.FeatureFlagsService/GetFeatureFlags",
)
_OTHER_SERVICES = (
    "/settings.v1.SettingsService/",
    "/settings.v1.RecordingRulesService/",
    "/vcs.v1.VCSService/",
    "/adhocprofiles.v1.AdHocProfileService/",
)


def pyroscope_routes(runner: Runner, config: Config, clock_ns: Callable[[], int]) -> list[Route]:
    """Routes that answer as Pyroscope would, about the operations of a store.

    Args:
        runner: What questions run in. config: Views, fields, bounds. clock_ns: Now, in nanoseconds.
    """
    server = _Server(runner, config, clock_ns)
    methods = [
        Route(_SERVICE + name, functools.partial(server.method, name), methods=["POST"])
        for name in METHODS
    ]
    methods += [Route(path, server.nothing, methods=["POST"]) for path in _KEPT_AT_A_SERVER]
    # Also what later versions of Grafana ask for: they hide what is answered like this.
    others = [
        Route(f"{service}{{method}}", server.unimplemented, methods=["POST"])
        for service in (_SERVICE, *_OTHER_SERVICES)
    ]
    pages = [Route(path, functools.partial(server.page, path), methods=["GET"]) for path in PAGES]
    return [*methods, *others, *pages]


class _Server:
    """The handlers."""

    def __init__(self, runner: Runner, config: Config, clock_ns: Callable[[], int]) -> None:
        self._settings = Settings.of(config)
        self._runner = runner
        self._clock_ns = clock_ns

    async def method(self, name: str, request: Request) -> Response:
        """One Connect call."""
        if connect.codec_of(request) is None:
            return _unknown_codec()
        answer = METHODS[name]
        try:
            message: Any = message_class(f"{name}Request")()
            await connect.read_message(request, message)
            return await self._ask(
                request, lambda asking: connect.answer(request, answer(asking, message))
            )
        except Exception as error:  # noqa: BLE001 - a client is told in its own protocol
            return _refused(error)

    async def nothing(self, request: Request) -> Response:
        """Settings and flags of Grafana's app: none here, so that it goes on with its own."""
        codec = connect.codec_of(request)
        if codec is None:
            return _unknown_codec()
        return Response(
            b"{}" if codec == "json" else b"", headers={"Content-Type": f"application/{codec}"}
        )

    async def unimplemented(self, request: Request) -> Response:
        """Any other method."""
        name = request.path_params["method"][:100]
        return _refused(ConnectError("unimplemented", f"{name} is not offered"))

    async def page(self, path: str, request: Request) -> Response:
        """One plain GET."""
        answer, query = PAGES[path], dict(request.query_params)
        try:
            return await self._ask(
                request, lambda asking: connect.compressed(request, *answer(asking, query))
            )
        except Exception as error:  # noqa: BLE001 - as above
            return _refused(error)

    async def _ask(self, request: Request, work: Callable[[Asking], Response]) -> Response:
        tenant, now_ns = tenant_of(request), self._clock_ns()

        def run(running: RunningQuery) -> Response:
            return work(Asking(running, self._settings, tenant, now_ns))

        return await self._runner.run(request, run, connect.timeout_of(request))


def _unknown_codec() -> Response:
    return Response(status_code=415, headers={"Accept-Post": "application/json, application/proto"})


def _refused(error: Exception) -> Response:
    if not isinstance(error, WhyflameError):
        # The text of an unexpected error may quote content; its place may not.
        _LOG.error("query failed: %s", type(error).__name__)
        _LOG.debug("query failed", exc_info=error)
        error = ConnectError("internal", "the query failed; the server's log says where")
    return connect.error_answer(error)
