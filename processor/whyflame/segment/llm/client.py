"""One request to an OpenAI-compatible chat endpoint, with the standard library only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPException
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from whyflame.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "ChatClient", "EndpointError", "is_local"]

_MAX_ANSWER_BYTES = 4 << 20
_REFUSALS = frozenset([400, 404, 415, 422, 500, 501])
"""Status codes that may mean "I do not know this response_format" (llama-cpp-python says 500)."""

_UNANSWERED = (
    URLError, HTTPException, OSError, ValueError, LookupError, TypeError, AttributeError,
)  # fmt: skip
"""No connection, a broken one, or an answer of another form."""


def _as_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI, vLLM, Ollama, llama.cpp's own server."""
    named = {"name": "marks", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _as_json_object(schema: dict[str, Any]) -> dict[str, Any]:
    """llama-cpp-python and older llama.cpp servers."""
    return {"response_format": {"type": "json_object", "schema": schema}}


def _as_text(_: dict[str, Any]) -> dict[str, Any]:
    """Endpoints without structured output; the instruction alone asks for JSON."""
    return {}


_FORMS = (_as_json_schema, _as_json_object, _as_text)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the endpoint said, and its own account of the tokens (None where it gave none)."""

    text: str
    model: str
    response_id: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None


class EndpointError(TransientError):
    """The endpoint did not answer as asked.

    Args:
        message: What happened.
        kind: Class of the failure: an HTTP status, or the name of an error.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def is_local(endpoint: str) -> bool:
    """Whether content sent there stays on this machine."""
    host = urlsplit(endpoint).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class ChatClient:
    """Asks for one structured answer at a time; safe to share between threads.

    Args:
        endpoint: Base URL, with its `/v1`.
        model: Name the endpoint knows.
        key: Bearer token; empty for none.
        timeout_seconds: For one request.
    """

    def __init__(self, endpoint: str, model: str, key: str, timeout_seconds: float) -> None:
        if urlsplit(endpoint).scheme not in ("http", "https"):
            raise ConfigError(f"segment.options.endpoint: {endpoint!r} is not an http(s) URL")
        self.model = model
        self._url = endpoint.rstrip("/") + "/chat/completions"
        self._key = key
        self._timeout = timeout_seconds
        self._form = 0

    def ask(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any], max_tokens: int
    ) -> Answer:
        """Send the messages; the answer is asked for as JSON of this schema.

        Endpoints take structured output in different forms. The first form that one does not
        refuse is kept for all later requests.

        Raises:
            EndpointError: No answer, or one that is not a chat completion.
        """
        while True:
            form = self._form
            body = {
                "model": self.model,
                "messages": list(messages),
                "temperature": 0,
                "max_tokens": max_tokens,
                **_FORMS[form](schema),
            }
            try:
                return self._send(body)
            except HTTPError as error:
                error.close()
                if error.code not in _REFUSALS or form + 1 == len(_FORMS):
                    raise self._failure(error) from error
                self._form = max(self._form, form + 1)
            except _UNANSWERED as error:
                raise self._failure(error) from error

    def _failure(self, error: Exception) -> EndpointError:
        text = f"{urlsplit(self._url).netloc}: {error!r}"
        return EndpointError(text, _kind_of(error))

    def _send(self, body: dict[str, Any]) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        with urlopen(request, timeout=self._timeout) as response:  # noqa: S310 - as above
            raw = json.loads(response.read(_MAX_ANSWER_BYTES))
        usage = raw.get("usage") or {}
        identifier = raw.get("id")
        return Answer(
            text=str(raw["choices"][0]["message"]["content"] or ""),
            model=str(raw.get("model") or self.model),
            response_id=identifier if isinstance(identifier, str) else None,
            input_tokens=_count(usage.get("prompt_tokens")),
            output_tokens=_count(usage.get("completion_tokens")),
            cached_tokens=_count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
            reasoning_tokens=_count(
                (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
            ),
        )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _kind_of(error: Exception) -> str:
    """A short class of failure; never the text, which may quote what was sent."""
    if isinstance(error, HTTPError):
        return str(error.code)
    reason = error.reason if isinstance(error, URLError) else error
    return type(reason).__name__ if isinstance(reason, Exception) else "URLError"
