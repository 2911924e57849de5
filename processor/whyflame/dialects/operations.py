"""Operations that an import made spans of, with the names that the import gave their fields."""

from __future__ import annotations

from whyflame.dialects.dialect import Dialect
from whyflame.dialects.genai import GENAI
from whyflame.model import Kind

__all__ = ["OPERATIONS_FILE"]

OPERATIONS_FILE = Dialect(
    name="operations",
    scopes=("whyflame.operations",),
    extends=GENAI,
    kinds=(
        (
            "whyflame.kind",
            {
                "llm": Kind.LLM,
                "embed": Kind.EMBED,
                "tool": Kind.TOOL,
                "agent": Kind.AGENT,
                "prompt": Kind.PROMPT,
            },
        ),
    ),
    fields={
        "path_group": ("path_group",),
        "domain": ("domain",),
        "effect": ("effect",),
        "skill": ("skill",),
        "answered": ("whyflame.kind",),
    },
)
