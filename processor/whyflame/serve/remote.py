"""Questions to a running server over its HTTP API."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from whyflame.errors import Backpressure, NothingMatched, UsageError, WhyflameError

if TYPE_CHECKING:
    from whyflame.serve.questions import DiffRequest, Filter, ProfileRequest

__all__ = ["RemoteQuestions"]

TIMEOUT_SECONDS = 120
# It waits for storing, then settles and names all that is asked for.
SEGMENT_SECONDS = 3600
FORGET_SECONDS = 3600
# A server that stores has room again within seconds; one whose disk is full does not.
ROOM_SECONDS = 300
# What a server answers that does not know our paths.
_NOT_HERE = {404, 405, 501}
_OWN_PORT = "The API and the page have one of their own (4319 unless configured)"
FORGOTTEN = ("traces", "spans", "payloads", "requests", "dead_letters")


class NoAnswer(WhyflameError):  # noqa: N818 - a state of the server
    """Nobody listens there, or the connection broke."""


class RemoteQuestions:
    """The same questions as `StoreQuestions`, asked of a server.

    Args:
        url: Base URL, for example http://127.0.0.1:4319.
        token: Bearer token, when the server asks for one.
        tenant: Sent as X-Scope-OrgID, for servers that take tenants from it.
    """

    def __init__(self, url: str, token: str | None = None, tenant: str = "") -> None:
        if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
            meant = "" if "://" in url else f"; did you mean http://{url}?"
            raise UsageError(f"--url {url}: not an http or https address{meant}")
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if tenant:
            self._headers["X-Scope-OrgID"] = tenant

    def totals(self, by: tuple[str, ...], chosen: Filter) -> dict[str, Any]:
        """See `Questions`."""
        return self._json("/api/v1/totals", [("by", ",".join(by)), *_filter(chosen)])

    def profile(self, request: ProfileRequest, encoding: str) -> bytes:
        """See `Questions`."""
        parameters = [
            ("view", request.view),
            ("measure", request.measure or ""),
            ("stack", ",".join(request.stack)),
            ("labels", ",".join(request.labels)),
            ("waits", _flag(request.waits)),
            ("format", encoding),
            *_filter(request.filter),
        ]
        return self._send("GET", "/api/v1/profile", parameters)

    def diff(self, request: DiffRequest, encoding: str) -> bytes:
        """See `Questions`."""
        asked = request.profile
        parameters = [
            ("view", asked.view),
            ("measure", asked.measure or ""),
            ("stack", ",".join(asked.stack)),
            ("waits", _flag(asked.waits)),
            *(("base", where) for where in request.base),
            *(("target", where) for where in request.target),
            ("base_since", request.base_times[0] or ""),
            ("base_until", request.base_times[1] or ""),
            ("target_since", request.target_times[0] or ""),
            ("target_until", request.target_times[1] or ""),
            ("per", request.unit),
            ("pair_by", request.pair_by or ""),
            ("format", encoding),
            *_filter(asked.filter),
        ]
        return self._send("GET", "/api/v1/diff", parameters)

    def sessions(self, chosen: Filter, limit: int) -> dict[str, Any]:
        """See `Questions`."""
        return self._json("/api/v1/sessions", [("limit", str(limit)), *_filter(chosen)])

    def session(self, session: str, tenant: str = "") -> dict[str, Any]:  # noqa: ARG002
        """See `Questions`; the tenant comes from the token or header."""
        return self._json(f"/api/v1/sessions/{urllib.parse.quote(session, safe='')}", [])

    def status(self, tenant: str = "") -> dict[str, Any]:  # noqa: ARG002
        """See `Questions`; the tenant comes from the token or header."""
        return self._json("/api/v1/status", [])

    def ingest(self, signal: str, body: bytes) -> None:
        """Hand one OTLP request to the server's journal; wait while it asks to.

        Raises:
            Backpressure: It has had no room for five minutes; says what is full.
        """
        parameters, deadline = [("signal", signal)], time.monotonic() + ROOM_SECONDS
        while True:
            try:
                self._send("POST", "/api/v1/import", parameters, body, "application/x-protobuf")
            except Backpressure as full:
                if time.monotonic() > deadline:
                    raise
                time.sleep(full.retry_after_seconds)
            else:
                return

    def segment(self, session: str | None, segmenter: str | None) -> dict[str, Any]:
        """Settle and segment now."""
        parameters = [("session", session or ""), ("segmenter", segmenter or "")]
        return self._read(
            self._send(
                "POST", "/api/v1/segment", parameters, b"{}", "application/json", SEGMENT_SECONDS
            )
        )

    def forget(self, session: str | None, user: str | None) -> dict[str, Any]:
        """Ask to forget, and wait until it is done.

        Raises:
            NothingMatched: There was nothing of it.
        """
        wanted = json.dumps({"session": session, "user": user}).encode()
        answer = self._read(self._send("POST", "/api/v1/forget", [], wanted, "application/json"))
        path = f"/api/v1/forget/{answer['id']}"
        deadline = time.monotonic() + FORGET_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.3)
            try:
                done = self._json(path, [])
            except NoAnswer:
                continue  # it does not answer while it forgets
            if done["state"] == "done":
                if not any(done[name] for name in FORGOTTEN):
                    raise NothingMatched("nothing of this session or user is there")
                return done
        raise WhyflameError(f"the server is still busy; ask for {path} later")

    def outbox(self, exporter: str | None, state: str | None, limit: int) -> list[dict[str, Any]]:
        """Profiles that wait or were given up."""
        parameters = [("exporter", exporter or ""), ("state", state or ""), ("limit", str(limit))]
        found: list[dict[str, Any]] = self._json("/api/v1/outbox", parameters)["payloads"]
        return found

    def change_outbox(self, action: str, ids: list[int]) -> int:
        """Retry or drop profiles; returns how many."""
        wanted = json.dumps({"action": action, "ids": ids}).encode()
        answer = self._send("POST", "/api/v1/outbox", [], wanted, "application/json")
        return int(self._read(answer)["changed"])

    def _json(self, path: str, parameters: list[tuple[str, str]]) -> dict[str, Any]:
        return self._read(self._send("GET", path, parameters))

    def _read(self, body: bytes) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise NoAnswer(_other_server(self._url)) from error
        return found

    def _send(
        self,
        method: str,
        path: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        content_type: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> bytes:
        query = urllib.parse.urlencode([(name, value) for name, value in parameters if value])
        headers = {**self._headers, **({"Content-Type": content_type} if content_type else {})}
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self._url}{path}?{query}", data=body, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:  # noqa: S310
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise _error(self._url, error) from error
        except OSError as error:
            raise NoAnswer(_no_answer(self._url, error)) from error
        except http.client.BadStatusLine as error:
            raise NoAnswer(
                f"what answers at {self._url} does not speak HTTP; is that the OTLP/gRPC port? "
                f"{_OWN_PORT}"
            ) from error
        except http.client.HTTPException as error:
            raise NoAnswer(_no_answer(self._url, error)) from error


def _other_server(url: str) -> str:
    return f"what answers at {url} is not whyflame's API; is that the OTLP/HTTP port? {_OWN_PORT}"


def _no_answer(url: str, error: Exception) -> str:
    reason = getattr(error, "reason", error)
    said = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
    return (
        f"no server answers at {url} ({said}); start `whyflame serve`, or give --data-dir for a "
        "store that is not in use"
    )


def _filter(chosen: Filter) -> list[tuple[str, str]]:
    return [
        *(("where", item) for item in chosen.where),
        ("since", chosen.since or ""),
        ("until", chosen.until or ""),
    ]


def _flag(value: bool | None) -> str:  # noqa: FBT001 - named where it is passed
    return "" if value is None else str(value).lower()


def _error(url: str, error: urllib.error.HTTPError) -> WhyflameError:
    text = error.read().decode(errors="replace")
    try:
        answer = json.loads(text)
        message, code = str(answer["error"]), answer.get("code")
    except (ValueError, KeyError, TypeError):
        if error.code in _NOT_HERE:
            return NoAnswer(_other_server(url))
        return WhyflameError(f"the server answered {error.code}: {' '.join(text.split())[:200]}")
    wait = error.headers.get("Retry-After", "")
    if error.code == HTTPStatus.SERVICE_UNAVAILABLE and wait.isdigit():
        return Backpressure(message, min(int(wait), ROOM_SECONDS))
    kinds: dict[int, type[WhyflameError]] = {2: UsageError, 3: NothingMatched}
    return kinds.get(code, WhyflameError)(message)
