"""What the HTTP side of a double is made of: a server in a thread, and a silent handler."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

__all__ = ["Handler", "HttpServer"]


class HttpServer:
    """Serves on a free port of 127.0.0.1 for as long as the block lasts.

    Args:
        handler: Of requests. double: What it finds as `self.double`.
    """

    def __init__(self, handler: type[Handler], double: Any = None) -> None:
        bound = type(handler.__name__, (handler,), {"double": double})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Handler(BaseHTTPRequestHandler):
    """Reads whole bodies, gives whole answers, keeps connections, says nothing."""

    protocol_version = "HTTP/1.1"
    double: Any

    def respond(self) -> None:
        """Answer one request, whatever its method."""
        raise NotImplementedError

    def _respond(self) -> None:
        self.respond()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _respond  # noqa: N815 - the base's names

    def lower_headers(self) -> dict[str, str]:
        """The request's headers by their names in lower case."""
        return {name.lower(): value for name, value in self.headers.items()}

    def read_body(self) -> bytes:
        """The request's body."""
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """One response; `Content_Type="x"` is a header of it."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""
