"""The names that questions use: fields of the Contract and the parts of tokens.

Apart from the records of `whyflame.model`, which a cold command never makes, and whose classes take
longer to come into being than all it has to do with these names.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIELDS", "TOKEN_PARTS", "FieldSpec"]

TOKEN_PARTS = ("input_uncached", "cache_read", "cache_write", "output_visible", "reasoning")
"""The five disjoint parts; their sum is `tokens`."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field that `--stack`, `--by` and `--where` accept.

    Attributes:
        column: Column of the view `operations`.
        coded: True when the column holds ids of the dictionary table `strings`.
        description: For help texts and documentation.
    """

    column: str
    coded: bool
    description: str


def _coded(column: str, description: str) -> FieldSpec:
    return FieldSpec(column=column, coded=True, description=description)


def _plain(column: str, description: str) -> FieldSpec:
    return FieldSpec(column=column, coded=False, description=description)


FIELDS: dict[str, FieldSpec] = {
    "service": _coded("service", "service.name of the resource"),
    "environment": _coded("environment", "deployment environment"),
    "version": _coded("version", "service.version of the resource"),
    "agent": _coded("agent", "agent that did the work"),
    "session": _coded("session", "conversation; trace:<id> when none is known"),
    "run": _plain("run", "part of a session without a long gap, 0-based"),
    "turn": _plain("turn", "user request inside the run, 0-based"),
    "lane": _coded("lane", "one agent's own sequence"),
    "step": _plain("step", "model call with the tools it asked for"),
    "root": _coded("root", "goal of the run"),
    "path": _plain("path_id", "semantic path, one frame a level"),
    "task": _plain("path_id", "innermost name of the semantic path"),
    "kind": _coded("kind", "llm, embed, tool, agent, control, ..."),
    "leaf": _coded("leaf", "evidence: call MODEL, run TOOL"),
    "model": _coded("model", "model that answered"),
    "provider": _coded("provider", "who served the model"),
    "tool": _coded("tool", "tool name"),
    "skill": _coded("skill", "skill in force"),
    "status": _coded("status", "ok, error, unset"),
    "error_type": _coded("error_type", "class of the failure"),
    "outcome": _coded("outcome", "how the run ended"),
    "path_group": _coded("path_group", "group of files touched"),
    "domain": _coded("domain", "network domain reached"),
    "effect": _coded("effect", "read, write, network, process"),
    "dialect": _coded("dialect", "telemetry dialect"),
    "token_kind": _plain("", "which of the five token parts"),
    "user_hash": _coded("user_hash", "hash of the user id"),
}
"""Fields of the Contract; promoted fields are added from the configuration at run time."""
