"""Model Context Protocol: the client's and the server's span of one tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind

if TYPE_CHECKING:
    from whyflame.dialects.reading import Reading
    from whyflame.model import Span

__all__ = ["MCP"]

_CALL = "tools/call "


def _finish(reading: Reading, span: Span) -> None:
    if reading.text("mcp.method.name") not in (None, "tools/call"):
        span.kind = Kind.OTHER
    elif span.kind is Kind.TOOL and span.tool is None and _CALL in reading.name:
        span.tool = reading.name.split(_CALL, 1)[1].strip() or None


MCP = Dialect(
    name="mcp",
    scopes=("mcp-python-sdk", "mcp", "mcp.*", "@modelcontextprotocol/*"),
    marks=("mcp.method.name",),
    extends=GENAI,
    kinds=(("mcp.method.name", {"tools/call": Kind.TOOL}),),
    finish=_finish,
)
