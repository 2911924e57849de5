"""Plays some sessions of one agent and writes down what really happened."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import coder_tasks
import researcher_tasks
import support_tasks
import writer_tasks
from model_server import ModelServer
from world import Truth, World

if TYPE_CHECKING:
    from plan import Session

TASKS = {
    "coder": coder_tasks,
    "support": support_tasks,
    "researcher": researcher_tasks,
    "writer": writer_tasks,
}


def planned(agent: str, seed: str) -> list[Session]:
    """All sessions of an agent, the same for the same seed."""
    return TASKS[agent].sessions(seed)


def play(agent: str, sessions: list[Session], endpoint: str) -> Truth:
    """Run the sessions with the instrumented agent, one after the other."""
    logging.getLogger("opentelemetry.attributes").setLevel(logging.ERROR)  # long texts are cut
    truth = Truth()
    server, world = ModelServer(truth), World(truth)
    module = importlib.import_module(f"agent_{agent}")
    runner = getattr(module, agent.capitalize())(server, world, endpoint)
    for session in sessions:
        server.open_session(session)
        world.open_session(session)
        truth.session(session, runner.run(session))
        runner.flush()
    server.close()
    return truth


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", choices=TASKS)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--truth", type=Path, required=True)
    args = parser.parse_args()
    wanted = set(args.ids.split(","))
    sessions = [session for session in planned(args.agent, args.seed) if session.id in wanted]
    truth = play(args.agent, sessions, args.endpoint)
    found = {"calls": truth.calls, "tools": truth.tools, "sessions": truth.sessions}
    args.truth.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
