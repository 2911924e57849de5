"""What a terminal shows: whole figures in whatever width, names in whatever encoding."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from whyflame.cli import _write_what_the_terminal_can
from whyflame.cli.output import write
from whyflame.cli.session_tree import run_tree
from whyflame.cli.tables import fitted, table
from whyflame.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

SPARE = ("calls", "cost")


def filled() -> Table:
    made = table("tokens", "cost", "calls", "task", numbers=range(3))
    made.add_row("74,586,876", "$1,234.50", "1,858", "diagnose session authentication")
    return made


def shown(width: int, *, is_terminal: bool = True) -> str:
    out = Console(file=io.StringIO(), width=width, force_terminal=is_terminal, color_system=None)
    out.print(fitted(filled(), out, SPARE))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [35, 40, 50, 60, 80, 200])
def test_figures_that_are_shown_are_whole_and_the_others_are_named(width: int) -> None:
    text = shown(width)
    assert "74,586,876" in text
    for name, figure in (("cost", "$1,234.50"), ("calls", "1,858")):
        assert (figure in text) != (name in text.partition("no room for: ")[2])
    assert max(map(len, text.splitlines())) <= width


def test_a_wide_terminal_and_a_pipe_get_every_column() -> None:
    assert "no room" not in shown(120)
    assert "no room" not in shown(20, is_terminal=False)


def test_what_the_encoding_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in another script must not end a command half-way."""
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    _write_what_the_terminal_can()
    sys.stdout.write("r\u00e4uber \u4f1a\n")
    sys.stdout.flush()
    assert raw.getvalue() == b"r\xe4uber \\u4f1a\n"


def test_bytes_are_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", stream)
    with pytest.raises(UsageError, match="name a file with -o"):
        write(b"\x1f\x8b...", "-")


def operation(name: str, path: list[str], tokens: int | None) -> dict[str, object]:
    return {
        "name": name,
        "kind": "llm",
        "path": path,
        "tokens": tokens,
        "self_ns": 1_000_000_000,
        "cost_nanousd": None if tokens is None else tokens * 1_000_000,
        "status": "unset",
        "error_type": None,
    }


def test_a_session_says_what_each_task_in_it_cost() -> None:
    """Nested tasks count in what they lie in, and a task that comes again stands by itself."""
    operations = [
        operation("call a", ["fix login"], 100),
        operation("call b", ["fix login", "run test"], 1000),
        operation("run sh", ["fix login", "run test"], None),
        operation("call c", ["write reply"], 50),
        operation("call d", ["fix login"], 7),
    ]
    lane = {"lane": "main", "agent": "coder", "operations": operations}
    run = {"run": 0, "root": "fix it", "outcome": "success", "lanes": [lane]}
    out = Console(file=io.StringIO(), width=200)
    out.print(run_tree("s-1", run))
    assert isinstance(out.file, io.StringIO)
    lines = [line.strip("\u2502\u251c\u2500\u2514 ") for line in out.file.getvalue().splitlines()]
    assert lines == [
        "s-1  run 0  fix it  [success]  1,157 tokens  $1.16  5.0 s",
        "main  agent coder  1,157 tokens  5.0 s",
        "fix login  1,100 tokens  3.0 s",
        "call a  100 tokens  1.0 s",
        "run test  1,000 tokens  2.0 s",
        "call b  1,000 tokens  1.0 s",
        "run sh  1.0 s",
        "write reply  50 tokens  1.0 s",
        "call c  50 tokens  1.0 s",
        "fix login  7 tokens  1.0 s",
        "call d  7 tokens  1.0 s",
    ]
