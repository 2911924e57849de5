"""`whyflame completion`: what the scripts offer."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from whyflame.cli.completion import SHELLS, completion_script

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="whyflame")
    parser.add_argument("--version", action="version", version="1")
    commands = parser.add_subparsers()
    totals = commands.add_parser("totals", help="exact sums, it's true")
    totals.add_argument("--format", choices=("table", "json"))
    totals.add_argument("-o", "--output")
    totals.add_argument("--by", metavar="FIELD,...")
    totals.add_argument("--view")
    config = commands.add_parser("config", help="check").add_subparsers()
    config.add_parser("check", help="read FILE").add_argument("file")
    config.add_parser("default")
    commands.add_parser("completion").add_argument("shell", choices=SHELLS)
    return parser


# zsh runs the function as its bashcompinit does: with arrays from 0, and unquoted words split.
STARTS = {
    "bash": ["bash", "--norc", "-c"],
    "zsh": ["zsh", "-f", "-c", 'complete() { :; }; emulate sh; eval "$0"'],
}


@pytest.fixture(params=list(STARTS))
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    return str(request.param)


def complete(parser: argparse.ArgumentParser, line: str, shell: str) -> list[str]:
    """What a shell offers at the end of a line."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    script = completion_script(parser, "bash") + (
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _whyflame\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [*STARTS[shell], script], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("whyflame ", ["totals", "config", "completion", "-h", "--help", "--version"]),
        ("whyflame to", ["totals"]),
        ("whyflame totals --", ["--help", "--format", "--output", "--by", "--view"]),
        ("whyflame totals --format ", ["table", "json"]),
        ("whyflame totals --format json --o", ["--output"]),
        ("whyflame totals --by ag", ["agent"]),
        ("whyflame totals --view ne", ["network"]),
        ("whyflame config ", ["check", "default", "-h", "--help"]),
        ("whyflame config d", ["default"]),
        ("whyflame completion f", ["fish"]),
    ],
)
def test_commands_options_and_choices_are_offered(
    parser: argparse.ArgumentParser, line: str, offered: list[str], shell: str
) -> None:
    assert complete(parser, line, shell) == offered


@pytest.mark.parametrize("line", ["whyflame config check et", "whyflame totals -o et"])
def test_files_are_offered_where_no_word_fits(
    parser: argparse.ArgumentParser, line: str, shell: str
) -> None:
    offered = complete(parser, line, shell)
    # zsh offers files of its own accord, when it is told to and no word is there.
    assert "etc" in offered if shell == "bash" else offered == []
    assert "complete -o filenames -o default " in completion_script(parser, shell)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("whyflame to", ["totals\texact sums, it's true"]),
        ("whyflame totals --format ", ["json", "table"]),
        ("whyflame config d", ["default"]),
    ],
)
def test_fish_offers_the_same(
    parser: argparse.ArgumentParser, line: str, offered: list[str], tmp_path: Path
) -> None:
    script = f"{completion_script(parser, 'fish')}\ncomplete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.stdout.splitlines() == offered


def test_zsh_uses_the_tables_of_bash(parser: argparse.ArgumentParser) -> None:
    script = completion_script(parser, "zsh")
    assert "bashcompinit" in script
    assert script.endswith(completion_script(parser, "bash"))


def test_fish_is_told_each_command_and_option(parser: argparse.ArgumentParser) -> None:
    lines = completion_script(parser, "fish").splitlines()
    commands = "not __fish_seen_subcommand_from totals config completion"
    assert (
        f"complete -c whyflame -f -n '{commands}' -a totals -d 'exact sums, it\\'s true'" in lines
    )
    below = "__fish_seen_subcommand_from totals"
    assert f"complete -c whyflame -n '{below}' -l format -r -f -a 'table json' -d ''" in lines
    assert f"complete -c whyflame -n '{below}' -s o -l output -r -d ''" in lines


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_script_is_valid_in_its_shell(parser: argparse.ArgumentParser, shell: str) -> None:
    script = completion_script(parser, shell)
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
