"""The page at `/`: its files, and the questions that only it asks.

Nothing of it holds data, so the files need no token; the page asks the API like any other client.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from whyflame.errors import UsageError
from whyflame.fold.palette import css_variables
from whyflame.serve.advice import advise
from whyflame.serve.parameters import (
    json_answer,
    read_filter,
    read_number,
    read_profile_request,
)
from whyflame.serve.questions import FrameRequest

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from whyflame.serve.answering import Answering
    from whyflame.serve.questions import PageQuestions

__all__ = ["page_routes"]


def page_routes(questions: PageQuestions, answering: Answering) -> list[BaseRoute]:
    """Routes of the page, its files, and what it asks beside the other API."""
    page = _Page(questions, answering)
    return [
        Route("/", page.index),
        Route("/static/palette.css", page.palette),
        Mount("/static", StaticFiles(packages=[("whyflame.serve", "static")])),
        Route("/api/v1/options", page.options),
        Route("/api/v1/values", page.values),
        Route("/api/v1/behind", page.behind),
        Route("/api/v1/coverage", page.coverage),
    ]


class _Page:
    """The handlers."""

    def __init__(self, questions: PageQuestions, answering: Answering) -> None:
        self._options = questions.options()
        self._ask = answering.ask

    async def index(self, _: Request) -> Response:
        return Response(_file("index.html"), media_type="text/html")

    async def palette(self, _: Request) -> Response:
        return Response(_palette(), media_type="text/css")

    async def options(self, _: Request) -> Response:
        return json_answer(self._options)

    async def values(self, request: Request) -> Response:
        field = request.query_params.get("field")
        if field is None:
            raise UsageError("which field? give field=NAME")
        contains = request.query_params.get("contains", "")
        limit, chosen = read_number(request, "limit", 50), read_filter(request)
        found = await self._ask(request, lambda asked: asked.values(field, contains, chosen, limit))
        return json_answer(found)

    async def behind(self, request: Request) -> Response:
        query = request.query_params
        frames = tuple(query.getlist("frame"))
        if not frames:
            raise UsageError("which frame? give frame=NAME for it and each one above it")
        wanted = FrameRequest(
            profile=read_profile_request(request),
            frames=frames,
            anywhere=query.get("anywhere", "false") == "true",
            session=query.get("session"),
        )
        limit = read_number(request, "limit", 100)
        return json_answer(await self._ask(request, lambda asked: asked.behind(wanted, limit)))

    async def coverage(self, request: Request) -> Response:
        """The coverage report with findings; an empty store has one too."""
        chosen = read_filter(request)
        answer = await self._ask(request, lambda asked: asked.totals((), chosen))
        report = answer["coverage"]
        findings = [
            {"who": found.who, "what": found.what, "mend": found.mend} for found in advise(report)
        ]
        return json_answer({"coverage": report, "findings": findings})


@cache
def _file(name: str) -> str:
    return (files("whyflame.serve") / "static" / name).read_text(encoding="utf-8")


@cache
def _palette() -> str:
    """Colours of frames by theme, from the module that the SVG files use too."""
    light, dark = css_variables("light"), css_variables("dark")
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )
