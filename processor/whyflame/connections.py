"""Bounds on connections: how many there are, and how long one may take to ask for something.

Without them whoever opens connections and says nothing takes every descriptor of the process, and with
them the files of the journal and of the store.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["HEAD_SECONDS", "BoundedProtocol", "most_connections", "raise_descriptor_limit"]

HEAD_SECONDS = 30.0
_DESCRIPTORS = 8192
_MOST, _PORTS_AND_FILES = 2048, 4


def raise_descriptor_limit() -> None:
    """Take as many descriptors as are of use; what the system allows at first may be 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """To one port: 2,048, fewer where descriptors are short, since files need some too."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(_MOST, soft // _PORTS_AND_FILES)


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol; connections beyond the bound, and those that ask for nothing, are closed."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.abort()
            return
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._wait_for_head()
        super().on_response_complete()

    def _wait_for_head(self) -> None:
        # Not only until the first byte, as uvicorn does: the whole head has to come.
        self._stop_waiting()
        seconds = max(HEAD_SECONDS, self.timeout_keep_alive)
        self._late = self.loop.call_later(seconds, self._end_when_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_when_late(self) -> None:
        is_answering = bool(self.cycle) and not self.cycle.response_complete
        if not is_answering:
            self.transport.abort()
