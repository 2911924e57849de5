"""What an agent's name says about its part in the work: a generic role, never the name itself."""

from __future__ import annotations

import re

__all__ = ["ROLE_COUNT", "role_of"]

_ROLES = (
    r"thought|orchestr|manager|planner|supervis|coordinat|lead",
    r"terminal|executor|computer|interpreter|sandbox",
    r"surfer|browser|web|search",
    r"verif|review|critic|check|valid|test",
    r"user|human|customer|client",
    r"coder|engineer|developer|program|code",
    r"expert|analyst|specialist",
    r"assistant|agent|bot",
)
_PATTERNS = tuple(re.compile(role) for role in _ROLES)
_HAND_OFF, _OTHER = len(_ROLES) + 1, len(_ROLES) + 2
ROLE_COUNT = _OTHER + 1
_LONGEST = 80


def role_of(agent: str) -> int:
    """Code of the role; 0 when there is no name."""
    if not agent:
        return 0
    agent = agent[:_LONGEST].lower()
    if "->" in agent:
        return _HAND_OFF
    for code, pattern in enumerate(_PATTERNS, 1):
        if pattern.search(agent):
            return code
    return _OTHER
