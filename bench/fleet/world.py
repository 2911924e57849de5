"""What the tools answer, and the true figures of everything that really happened."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plan import Call, Lane, Reply, Session


class ToolFailedError(Exception):
    """A tool could not do its work."""


class Truth:
    """Counts what was really served, by the model server and by the tools themselves."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []
        self.sessions: list[dict[str, Any]] = []
        self._failed: set[int] = set()

    def model_call(
        self, session: Session, lane: Lane, reply: Reply, given: int, cached: int
    ) -> None:
        record = self._record(session, lane, reply)
        record |= {
            "input": given,
            "cached": cached,
            "output": reply.output,
            "reasoning": reply.reasoning,
        }
        self.calls.append(record)

    def failed_call(self, session: Session, lane: Lane, reply: Reply) -> None:
        """Attempts of one refused call are one call, as the client sees it."""
        if id(reply) not in self._failed:
            self._failed.add(id(reply))
            self.calls.append(self._record(session, lane, reply) | {"error": reply.status})

    def _record(self, session: Session, lane: Lane, reply: Reply) -> dict[str, Any]:
        return {
            "session": session.id,
            "agent": lane.agent,
            "model": lane.model,
            "phase": reply.phase,
        }

    def tool_call(self, session: Session, phase: str, call: Call) -> None:
        self.tools.append(
            {
                "session": session.id,
                "phase": phase,
                "tool": call.tool,
                "seconds": round(call.seconds, 3),
                "error": bool(call.error),
            }
        )

    def session(self, session: Session, outcome: str) -> None:
        self.sessions.append(
            {
                "session": session.id,
                "agent": session.agent,
                "task": session.task,
                "version": session.version,
                "outcome": outcome,
                "pauses": [round(turn.pause_seconds, 1) for turn in session.turns],
            }
        )


class World:
    """Hands each tool call the answer that the plan holds for it, one session at a time."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[tuple[str, Call]]] = defaultdict(deque)
        self._session: Session | None = None

    def open_session(self, session: Session) -> None:
        """Forget the last session and learn the answers of this one."""
        self._waiting.clear()
        self._session = session
        self._learn(session.main)

    def _learn(self, lane: Lane) -> None:
        for reply in lane.replies:
            for call in reply.calls:
                self._waiting[_key(call.tool, call.args)].append((reply.phase, call))
                if call.lane:
                    self._learn(call.lane)

    def take(self, tool: str, args: dict[str, Any]) -> Call:
        """The planned call; counted here, by the tool, not by any telemetry."""
        assert self._session
        with self._lock:
            phase, call = self._waiting[_key(tool, args)].popleft()
            self._truth.tool_call(self._session, phase, call)
        return call

    def run(self, tool: str, args: dict[str, Any]) -> str:
        """Carry a call out.

        Raises:
            ToolFailedError: The plan says that this call fails.
        """
        call = self.take(tool, args)
        if call.error:
            raise ToolFailedError(call.error)
        return call.result


def _key(tool: str, args: dict[str, Any]) -> str:
    return tool + json.dumps(args, sort_keys=True)
