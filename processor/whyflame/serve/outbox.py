"""`/api/v1/outbox`: profiles that wait for a backend or were given up, tried again or dropped."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from whyflame.errors import UsageError
from whyflame.serve.access import OUTBOX_PATH, tenant_of
from whyflame.serve.parameters import json_answer, read_number
from whyflame.store.outbox_letters import (
    drop_letters,
    letter_rows,
    list_letters,
    retry_letters,
)
from whyflame.store.running import RunningStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from starlette.requests import Request

    from whyflame.serve.runner import Runner
    from whyflame.store.duck import Store

__all__ = ["outbox_routes"]

_STATES = ("waiting", "dead")
_ACTIONS = {"retry": retry_letters, "drop": drop_letters}
_MAX_BODY_BYTES = 1 << 20
_MAX_ID = (1 << 63) - 1


def outbox_routes(
    store: Store,
    runner: Runner,
    clock_ns: Callable[[], int],
    changing: Callable[[], AbstractContextManager[None]],
) -> list[Route]:
    """The two routes.

    Args:
        store: The open store. runner: What bounds every question.
        clock_ns: Now, in nanoseconds since the epoch.
        changing: Makes what is held while the outbox is changed: the export stage must not number
            payloads then.
    """
    handlers = _Outbox(store, runner, clock_ns, changing)
    return [
        Route(OUTBOX_PATH, handlers.show),
        Route(OUTBOX_PATH, handlers.change, methods=["POST"]),
    ]


class _Outbox:
    """The handlers; a caller sees and changes what is of its tenant."""

    def __init__(
        self,
        store: Store,
        runner: Runner,
        clock_ns: Callable[[], int],
        changing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._store, self._runner = store, runner
        self._clock_ns, self._changing = clock_ns, changing

    async def show(self, request: Request) -> Response:
        state = request.query_params.get("state") or None
        if state is not None and state not in _STATES:
            raise UsageError(f"unknown state {state!r}; known: {', '.join(_STATES)}")
        asked = functools.partial(
            list_letters,
            exporter=request.query_params.get("exporter") or None,
            state=state,
            limit=read_number(request, "limit", 1000),
            tenant=tenant_of(request),
        )
        letters = await self._runner.run(request, lambda running: asked(RunningStore(running)))
        return json_answer({"payloads": letter_rows(letters)})

    async def change(self, request: Request) -> Response:
        # Not a content type a foreign web page may send without being asked for permission first.
        if request.headers.get("content-type") != "application/json":
            return _refused("send application/json", 415)
        body = await request.body()
        if len(body) > _MAX_BODY_BYTES:
            return _refused(f"larger than {_MAX_BODY_BYTES} bytes", 413)
        action, ids = _read_change(body)
        count = await run_in_threadpool(self._change, action, ids, tenant_of(request))
        return json_answer({"changed": count})

    def _change(self, action: str, ids: list[int], tenant: str) -> int:
        with self._changing():
            return _ACTIONS[action](self._store, ids, self._clock_ns(), tenant)


def _read_change(body: bytes) -> tuple[str, list[int]]:
    try:
        content = json.loads(body)
        action, ids = content["action"], content["ids"]
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise UsageError('send {"action": "retry" or "drop", "ids": [NUMBER, ...]}') from error
    if action not in _ACTIONS:
        raise UsageError(f"unknown action {action!r}; known: {', '.join(_ACTIONS)}")
    if not isinstance(ids, list) or not all(_is_id(number) for number in ids):
        raise UsageError("ids is a list of numbers")
    return action, ids


def _is_id(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MAX_ID


def _refused(message: str, status: int) -> Response:
    return JSONResponse({"error": message, "code": 2}, status_code=status)
