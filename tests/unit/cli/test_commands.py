"""The commands and the flags that users depend on."""

from __future__ import annotations

import argparse

import pytest

from whyflame.cli import build_parser

COMMANDS = (
    "serve",
    "demo",
    "import",
    "send",
    "segment",
    "totals",
    "profile",
    "top",
    "sessions",
    "session",
    "diff",
    "eval",
    "doctor",
    "config",
)
ASK_THE_STORE = ("import", "segment", "totals", "profile", "top", "sessions", "session", "diff")


def parsers() -> dict[str, argparse.ArgumentParser]:
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(commands.choices)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_promised_command_is_there(command: str) -> None:
    assert command in parsers()


@pytest.mark.parametrize("command", [*ASK_THE_STORE, "doctor"])
def test_a_store_or_a_server_can_be_asked(command: str) -> None:
    flags = parsers()[command]._option_string_actions
    assert {"--data-dir", "--url"} <= set(flags)
