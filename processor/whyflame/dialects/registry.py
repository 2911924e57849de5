"""Which dialects there are, in the order in which they are tried, and the one for a shape."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from whyflame.dialects.ai_sdk import AI_SDK, AI_SDK_7
from whyflame.dialects.claude_code import CLAUDE_CODE
from whyflame.dialects.codex import CODEX
from whyflame.dialects.compile import matches
from whyflame.dialects.dialect import Dialect
from whyflame.dialects.frameworks import (
    AGENT_FRAMEWORK,
    AUTOGEN,
    CREWAI,
    OPENAI_AGENTS,
    SEMANTIC_KERNEL,
)
from whyflame.dialects.gemini_cli import GEMINI_CLI, QWEN_CODE
from whyflame.dialects.genai import ANTHROPIC_SDK, BEDROCK, GENAI
from whyflame.dialects.google_adk import GOOGLE_ADK
from whyflame.dialects.haystack import HAYSTACK
from whyflame.dialects.langfuse import LANGFUSE
from whyflame.dialects.langsmith import LANGSMITH
from whyflame.dialects.litellm import LITELLM
from whyflame.dialects.mcp import MCP
from whyflame.dialects.mlflow import MLFLOW
from whyflame.dialects.openinference import OPENINFERENCE
from whyflame.dialects.openlit import OPENLIT
from whyflame.dialects.openllmetry import OPENLLMETRY, OPENLLMETRY_CLAUDE_JS, OPENLLMETRY_GOOGLE
from whyflame.dialects.operations import OPERATIONS_FILE
from whyflame.dialects.pydantic_ai import LOGFIRE, LOGFIRE_AGENTS, PYDANTIC_AI
from whyflame.dialects.strands import STRANDS
from whyflame.dialects.traceai import TRACEAI
from whyflame.errors import ConfigError

__all__ = ["DIALECTS", "ENTRY_POINT_GROUP", "OTHER", "Registry"]

ENTRY_POINT_GROUP = "whyflame.dialects"

# Producers come before vocabularies: a producer's own spans may carry a shared vocabulary's names
# with other meanings. Among vocabularies, the one that says most about a span's kind comes first.
DIALECTS: tuple[Dialect, ...] = (
    OPERATIONS_FILE,
    CLAUDE_CODE,
    CODEX,
    GEMINI_CLI,
    QWEN_CODE,
    ANTHROPIC_SDK,
    BEDROCK,
    AI_SDK,
    TRACEAI,
    OPENINFERENCE,
    MLFLOW,
    OPENLIT,
    GOOGLE_ADK,
    LITELLM,
    AI_SDK_7,
    LOGFIRE_AGENTS,
    LOGFIRE,
    PYDANTIC_AI,
    STRANDS,
    AGENT_FRAMEWORK,
    AUTOGEN,
    SEMANTIC_KERNEL,
    OPENAI_AGENTS,
    CREWAI,
    HAYSTACK,
    MCP,
    LANGFUSE,
    LANGSMITH,
    OPENLLMETRY_CLAUDE_JS,
    OPENLLMETRY_GOOGLE,
    OPENLLMETRY,
    GENAI,
)

OTHER = Dialect(
    name="other",
    fields={
        key: GENAI.fields[key]
        for key in ("session", "conversation", "user", "error_type", "outcome")
    },
)


class Registry:
    """The dialects in use: third parties' first, since they know their producer best."""

    def __init__(self, extra: tuple[Dialect, ...] = ()) -> None:
        self.dialects = (*extra, *DIALECTS)
        self._events = {event for dialect in self.dialects for event in dialect.events}

    @classmethod
    def with_entry_points(cls) -> Registry:
        """Everything that ships, and every installed `whyflame.dialects` entry point.

        Raises:
            ConfigError: An entry point cannot be loaded or is no dialect.
        """
        return cls(tuple(_load(entry) for entry in sorted(entry_points(group=ENTRY_POINT_GROUP))))

    def find(self, scope: str, keys: frozenset[str]) -> Dialect:
        """The first dialect that matches; `OTHER` when none does."""
        for dialect in self.dialects:
            if matches(dialect, scope, keys):
                return dialect
        return OTHER

    def is_event(self, event: str) -> bool:
        """True when some dialect reads log events of this name."""
        return event in self._events

    def find_event(self, scope: str, event: str, keys: frozenset[str]) -> Dialect | None:
        """The first dialect that matches and says what this log event stands for."""
        for dialect in self.dialects:
            if event in dialect.events and matches(dialect, scope, keys):
                return dialect
        return None


def _load(entry: EntryPoint) -> Dialect:
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"dialect {entry.name!r} ({entry.value}) cannot be loaded: {error}"
        ) from error
    if not isinstance(found, Dialect):
        raise ConfigError(f"dialect {entry.name!r} ({entry.value}) is no whyflame.dialects.Dialect")
    return found
