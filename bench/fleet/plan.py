"""What the scripted model will say: sessions, turns, lanes, replies and tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random


@dataclass(slots=True)
class Call:
    """One tool call the model asks for, and what the tool will answer.

    `tokens` is what the result weighs in the next prompt. It is larger than the short text in
    `result`, as if the tool had printed a whole file: recordings stay small, figures stay real.
    """

    tool: str
    args: dict[str, Any]
    result: str
    tokens: int
    seconds: float
    error: str | None = None
    lane: Lane | None = None


@dataclass(slots=True)
class Reply:
    """One answer of the model. `refused` counts 429 answers before it, hidden in the SDK."""

    phase: str
    text: str
    calls: list[Call]
    output: int
    reasoning: int = 0
    refused: int = 0
    status: int = 200


@dataclass(slots=True)
class Lane:
    """One agent's own script."""

    key: str
    agent: str
    model: str
    base_tokens: int
    replies: list[Reply] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """One user request, and how long the user thought before it."""

    prompt: str
    tokens: int
    pause_seconds: float = 0.0


@dataclass(slots=True)
class Session:
    """One conversation with everything that will happen in it."""

    id: str
    agent: str
    task: str
    instance: str
    version: str
    environment: str
    user: str
    turns: list[Turn]
    main: Lane
    outcome: str = "success"
    step_budget: int = 60


class Script:
    """Writes a lane reply by reply; all chance comes from one seeded generator."""

    def __init__(self, lane: Lane, chance: random.Random, *, reasoning: bool = False) -> None:
        self.lane = lane
        self.chance = chance
        self._reasoning = reasoning

    def pick(self, options: list[str]) -> str:
        """One of several wordings."""
        return self.chance.choice(options)

    def say(self, phase: str, text: str, *calls: Call) -> Reply:
        """Append one reply; the length of the answer follows from what it holds."""
        chance = self.chance
        output = chance.randint(28, 70) + len(text) // 4 + 22 * len(calls)
        thought = chance.choice([0, 64, 128, 192, 256]) if self._reasoning else 0
        refused = 1 if chance.random() < 0.03 else 0
        reply = Reply(phase, text, list(calls), output + thought, thought, refused)
        self.lane.replies.append(reply)
        return reply

    def fail(self, phase: str, status: int) -> None:
        """The next model call is refused for good with this HTTP status."""
        self.lane.replies.append(Reply(phase, "", [], 0, status=status))
