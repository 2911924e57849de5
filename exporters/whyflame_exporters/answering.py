"""Reading one HTTP answer within a time and a size: no server can hold a thread, or fill the memory."""

from __future__ import annotations

import functools
import io
import time
from http.client import HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING, Any

from whyflame_exporters.answers import Answer

if TYPE_CHECKING:
    import socket
    from http.client import HTTPConnection

__all__ = ["read_answer"]

_MAX_ANSWER_BYTES = 64 << 10


def read_answer(connection: HTTPConnection, timeout_seconds: float) -> tuple[Answer, bool]:
    """The answer to the request just sent, and whether the connection may serve another.

    Raises:
        OSError, HTTPException: None came in time, or not all of one.
    """
    ends = time.monotonic() + timeout_seconds
    connection.response_class = functools.partial(_Response, ends)  # type: ignore[assignment]
    response = connection.getresponse()
    body = response.read(_MAX_ANSWER_BYTES)
    is_whole = response.isclosed()
    if response.length and len(body) < _MAX_ANSWER_BYTES:
        raise IncompleteRead(body, response.length)
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, body), is_whole


class _Response(HTTPResponse):
    """An answer that has to be read until a moment, however its bytes arrive."""

    def __init__(self, ends: float, sock: socket.socket, *rest: Any, **more: Any) -> None:
        super().__init__(sock, *rest, **more)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(sock, ends))


class _Timed(io.RawIOBase):
    """Reads from a socket, whose timeout is of one read, until a moment."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        # Keeps the socket open as long as the answer is read, as http.client needs it.
        self._raw = sock.makefile("rb", buffering=0)
        self._sock, self._ends = sock, ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
