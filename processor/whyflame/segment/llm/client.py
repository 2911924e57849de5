"""One request to an OpenAI-compatible chat endpoint, with the standard library only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from whyflame.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answer", "ChatClient", "is_local"]

_MAX_ANSWER_BYTES = 4 << 20


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

    def ask(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any], max_tokens: int
    ) -> Answer:
        """Send the messages; the answer is asked for as JSON of this schema.

        Raises:
            TransientError: No answer, or one that is not a chat completion.
        """
        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": max_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "marks", "schema": schema, "strict": True},
            },
        }
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        try:
            with urlopen(request, timeout=self._timeout) as response:  # noqa: S310 - as above
                raw = json.loads(response.read(_MAX_ANSWER_BYTES))
            usage = raw.get("usage") or {}
            return Answer(
                text=str(raw["choices"][0]["message"]["content"] or ""),
                input_tokens=int(usage.get("prompt_tokens") or 0),
                output_tokens=int(usage.get("completion_tokens") or 0),
                model=str(raw.get("model") or self.model),
            )
        except (URLError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise TransientError(f"{urlsplit(self._url).netloc}: {error!r}") from error
