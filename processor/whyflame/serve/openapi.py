"""The OpenAPI description of `/api/v1`: written by hand, completed with the names the code knows."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml
from starlette.responses import Response
from starlette.routing import Route

from whyflame.fields import FIELDS
from whyflame.fold.encode import ENCODINGS
from whyflame.fold.measures import MEASURE_BY_NAME
from whyflame.serve.differences import DIFF_ENCODINGS, UNITS
from whyflame.store.totals import TOTAL_KEYS

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["description", "openapi_routes"]

PATH = "/api/v1/openapi.json"
_CHOICES = (
    ("/api/v1/profile", "format", ENCODINGS),
    ("/api/v1/diff", "format", DIFF_ENCODINGS),
    ("/api/v1/diff", "per", UNITS),
)
_FRACTIONS = frozenset({"cost_usd", "duration_seconds"})


@functools.cache
def description() -> dict[str, Any]:
    """The whole document."""
    text = (files("whyflame.serve") / "openapi.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    parts = document["components"]
    parts["parameters"]["measure"]["schema"]["enum"] = list(MEASURE_BY_NAME)
    for path, name, choices in _CHOICES:
        parameters = document["paths"][path]["get"]["parameters"]
        schema = next(item["schema"] for item in parameters if item.get("name") == name)
        schema["enum"] = list(choices)
    known = "; ".join(f"`{name}` {spec.description}" for name, spec in FIELDS.items())
    parts["schemas"]["Fields"]["description"] = f"Names of fields: {known}; and promoted ones"
    row = parts["schemas"]["Totals"]["properties"]["rows"]["items"]
    row["required"] = list(TOTAL_KEYS)
    row["properties"] = {key: {"type": [_type_of(key), "null"]} for key in TOTAL_KEYS}
    return document


def _type_of(key: str) -> str:
    return "number" if key in _FRACTIONS else "integer"


def openapi_routes() -> list[Route]:
    """The one route."""
    return [Route(PATH, _answer)]


async def _answer(_: Request) -> Response:
    return Response(json.dumps(description(), ensure_ascii=False), media_type="application/json")
