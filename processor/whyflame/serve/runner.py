"""Runs questions in threads: so many at a time, so long, and no longer than somebody waits."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from whyflame.errors import Backpressure, QueryStopped
from whyflame.store.running import RunningQuery

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from starlette.requests import Request

    from whyflame.config import QueryConfig
    from whyflame.store.duck import Store

__all__ = ["Runner"]

_T = TypeVar("_T")
_WAITING_PER_THREAD = 16
_STOP_SECONDS = 0.05


class Runner:
    """One for a server.

    Args:
        store: What is asked. settings: The bounds.
    """

    def __init__(self, store: Store, settings: QueryConfig) -> None:
        self._store = store
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.concurrency, thread_name_prefix="query")
        self._pending = 0
        self._asked = -math.inf

    def unasked_seconds(self) -> float:
        """How long ago the last question ended, 0 while one is answered."""
        return 0.0 if self._pending else time.monotonic() - self._asked

    async def run(
        self, request: Request, work: Callable[[RunningQuery], _T], patience: float | None = None
    ) -> _T:
        """What `work` gives, in a thread.

        Args:
            request: The question ends when its client goes away. work: What to do.
            patience: Seconds the client waits; `query.timeout` is the most, and the default.

        Raises:
            QueryStopped: It took too long, or the client went away.
            Backpressure: Too many others are waiting.
        """
        if self._pending >= self._settings.concurrency * (1 + _WAITING_PER_THREAD):
            raise Backpressure("too many queries are waiting (query.concurrency)")
        seconds = min(self._settings.timeout, patience or self._settings.timeout)
        running = RunningQuery(self._store, self._settings.max_stacks)
        self._pending += 1
        try:
            return await self._watched(request, running, work, seconds)
        finally:
            self._pending -= 1
            self._asked = time.monotonic()

    async def _watched(
        self,
        request: Request,
        running: RunningQuery,
        work: Callable[[RunningQuery], _T],
        seconds: float,
    ) -> _T:
        future = self._threads.submit(_closing, running, work)
        task: asyncio.Future[_T] = asyncio.wrap_future(future)
        gone = asyncio.create_task(_gone(request))
        either: set[asyncio.Future[Any]] = {task, gone}
        try:
            done, _ = await asyncio.wait(
                either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if task not in done:
                who = (
                    "the client went away" if gone in done else f"it took longer than {seconds:g} s"
                )
                await _stop(running, future, f"the query was stopped: {who} (query.timeout)")
            return await task
        finally:
            gone.cancel()
            if not future.done():
                # The server itself is stopping; the thread ends on its own.
                running.stop("the server is stopping")


def _closing(running: RunningQuery, work: Callable[[RunningQuery], _T]) -> _T:
    try:
        return work(running)
    finally:
        running.close()


async def _stop(running: RunningQuery, future: Future[_T], reason: str) -> None:
    """End a question, begun or still waiting for a thread."""
    if future.cancel():
        running.close()
        raise QueryStopped(reason)
    while not future.done():
        running.stop(reason)
        await asyncio.sleep(_STOP_SECONDS)


async def _gone(request: Request) -> None:
    """Returns when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
