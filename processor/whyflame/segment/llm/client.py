"""One request to an OpenAI-compatible chat endpoint, with the standard library only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from whyflame.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "ChatClient", "is_local"]

_MAX_ANSWER_BYTES = 4 << 20
_REFUSALS = frozenset([400, 404, 415, 422, 500, 501])
"""Status codes that may mean "I do not know this response_format" (llama-cpp-python says 500)."""


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
    """What the endpoint said, and its own account of the tokens (0 when it gave none)."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str


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
            TransientError: No answer, or one that is not a chat completion.
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
            except (URLError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
                raise self._failure(error) from error

    def _failure(self, error: Exception) -> TransientError:
        return TransientError(f"{urlsplit(self._url).netloc}: {error!r}")

    def _send(self, body: dict[str, Any]) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        with urlopen(request, timeout=self._timeout) as response:  # noqa: S310 - as above
            raw = json.loads(response.read(_MAX_ANSWER_BYTES))
        usage = raw.get("usage") or {}
        return Answer(
            text=str(raw["choices"][0]["message"]["content"] or ""),
            input_tokens=int(usage.get("prompt_tokens") or 0),
            output_tokens=int(usage.get("completion_tokens") or 0),
            model=str(raw.get("model") or self.model),
        )
