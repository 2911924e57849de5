"""Query parameters of a request, read into what `Questions` takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from whyflame.errors import UsageError
from whyflame.serve.access import tenant_of
from whyflame.serve.questions import Filter, ProfileRequest

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = [
    "json_answer",
    "read_filter",
    "read_flag",
    "read_many",
    "read_number",
    "read_profile_request",
]


def read_many(request: Request, name: str) -> tuple[str, ...]:
    """Values of a repeatable, comma-separated parameter."""
    texts = request.query_params.getlist(name)
    return tuple(item.strip() for text in texts for item in text.split(",") if item.strip())


def read_number(request: Request, name: str, default: int) -> int:
    """A whole number.

    Raises:
        UsageError: The value is none.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise UsageError(f"{name} is a whole number, not {text!r}")
    return int(text)


def read_flag(request: Request, name: str) -> bool | None:
    """`true` or `false`; None when it is not given.

    Raises:
        UsageError: The value is neither.
    """
    text = request.query_params.get(name)
    if text not in (None, "true", "false"):
        raise UsageError(f"{name} is true or false, not {text!r}")
    return None if text is None else text == "true"


def read_filter(request: Request) -> Filter:
    """`where`, `since` and `until`, of the caller's tenant."""
    query = request.query_params
    times = query.get("since"), query.get("until")
    return Filter(tuple(query.getlist("where")), *times, tenant=tenant_of(request))


def read_profile_request(request: Request) -> ProfileRequest:
    """What `/api/v1/profile` is asked for."""
    query = request.query_params
    return ProfileRequest(
        view=query.get("view", "tokens"),
        measure=query.get("measure"),
        stack=read_many(request, "stack"),
        labels=read_many(request, "labels"),
        filter=read_filter(request),
        waits=read_flag(request, "waits"),
    )


def json_answer(content: Any) -> Response:
    """JSON with its letters as they are."""
    return Response(json.dumps(content, ensure_ascii=False), media_type="application/json")
