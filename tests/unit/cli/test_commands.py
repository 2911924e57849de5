"""The commands and the flags that users depend on."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whyflame import __version__, native
from whyflame.cli import build_parser, main

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        (["eval", "f.jsonl", "--data-dir", "d"], "whyflame segment --segmenter"),
        (["eval", "f.jsonl", "--url", "http://h"], "whyflame segment --segmenter"),
        (["completion", "bash", "--data-dir", "d"], "from the commands alone"),
        (["completion", "bash", "--url", "http://h"], "from the commands alone"),
        (["journal", "--url", "http://h"], "give the server's --data-dir DIR"),
    ],
)
def test_where_a_store_means_nothing_the_command_says_why(
    words: list[str], way_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also in its help; completion does not offer what is not taken."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {words[-2]}: " in said
    assert way_out in said
    parser = parsers()[words[0]]
    assert way_out in " ".join(parser.format_help().split())


@pytest.mark.parametrize("command", parsers())
def test_command_alone_has_the_help_that_it_has_among_all(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`main` imports only the module of the command that stands first."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == parsers()[command].format_help()


def test_help_and_a_command_import_nothing_heavy() -> None:
    heavy = "{'duckdb', '_duckdb', 'numpy', 'grpc', 'yaml', 'rich', 'asyncio', 'google.protobuf'}"
    code = f"""
import sys
from whyflame import __version__, native
from whyflame.cli import build_parser
build_parser().format_help()
build_parser("profile").parse_args(["profile", "-o", "p.pb.gz"])
print(sorted({heavy} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.strip() == "[]"


def test_the_version_says_whether_the_native_part_is_in_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    said = f"whyflame {__version__} (native part {native.described()})\n"
    assert capsys.readouterr().out == said


def test_no_command_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "start here:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["top", "sessions"])
@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_a_number_of_rows_is_one_or_more(
    command: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, f"--limit={number}"])
    assert ended.value.code == 2
    assert f"'{number}' is not a number of rows" in capsys.readouterr().err


def test_a_configuration_means_nothing_to_a_server_and_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["top", "--config", "mine.yaml"]) == 2
    assert "a server has its own configuration" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["localhost:4319", "127.0.0.1:4319"])
def test_an_address_without_its_scheme_is_completed_in_the_message(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", "--url", address]) == 2
    assert f"did you mean http://{address}?" in capsys.readouterr().err


def test_a_file_without_trajectories_is_not_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "operations.jsonl"
    file.write_text('{"session": "s", "tool": "bash"}\n')
    assert main(["eval", str(file)]) == 3
    assert f"no trajectory in {file}" in capsys.readouterr().err
