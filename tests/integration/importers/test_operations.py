"""Operation JSONL through the real store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whyflame.cli import main

if TYPE_CHECKING:
    from pathlib import Path

LINES = """\
# what an exporter of another tool wrote

{"value": 1, "fields": {"session": "s1", "agent": "coder", "action": "read", "path_group": "src"}}
{"fields": {"session": "s1", "agent": "coder", "tool": "bash", "status": "error", "group": "g1"}}
{"session": "s1", "action": "call", "kind": "llm", "model": "gpt-5", "input_tokens": 100,\
 "cache_read_tokens": 40, "output_tokens": 7, "duration_ms": 1500}
{"fields": {"session": ["s2"], "action": "fetch", "domains": ["example.org", "b.example"]}}
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def bring(store: Path, text: str, *options: str, code: int = 0) -> Path:
    file = store.with_name("ops.jsonl")
    file.write_text(text)
    assert main(["import", str(file), *options, "--data-dir", str(store)]) == code
    return file


def rows(
    store: Path, capsys: pytest.CaptureFixture[str], by: str, *where: str
) -> list[dict[str, Any]]:
    capsys.readouterr()
    words = ["totals", "--by", by, "--format", "json", "--data-dir", str(store)]
    for one in where:
        words += ["--where", one]
    assert main(words) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def test_lines_become_operations(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fields take their places, tokens and times count, unknown stays unknown."""
    bring(store, LINES)
    found = rows(store, capsys, "session,tool,agent", "kind=tool")
    assert [(r["session"], r["tool"], r["agent"], r["tool_errors"]) for r in found] == [
        ("s1", "bash", "coder", 1), ("s1", "read", "coder", 0), ("s2", "fetch", None, 0),
    ]  # fmt: skip
    (call,) = rows(store, capsys, "model", "kind=llm")
    assert (call["llm_calls"], call["input_tokens"], call["cache_read_tokens"]) == (1, 100, 40)
    assert (call["output_tokens"], call["reasoning_tokens"]) == (7, None)
    assert call["duration_seconds"] == 1.5
    assert [r["path_group"] for r in rows(store, capsys, "path_group", "tool=read")] == ["src"]
    assert [r["domain"] for r in rows(store, capsys, "domain", "tool=fetch")] == ["example.org"]


def test_again_and_after_it_grew(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines add nothing; lines that repeat in the file are operations of their own."""
    line = '{"fields": {"session": "s", "action": "read"}}\n'
    bring(store, line * 2)
    bring(store, line * 2)
    assert rows(store, capsys, "session")[0]["tool_calls"] == 2
    bring(store, line * 5)
    assert rows(store, capsys, "session")[0]["tool_calls"] == 5


@pytest.mark.parametrize(
    ("counts", "column", "expected"),
    [("seconds", "duration_seconds", 30.0), ("output_tokens", "output_tokens", 30)],
)
def test_what_values_count(
    store: Path, capsys: pytest.CaptureFixture[str], counts: str, column: str, expected: float
) -> None:
    """Values are the measure the user names; nothing of them is lost."""
    text = "".join(
        json.dumps({"value": n, "fields": {"session": "s", "action": "x"}}) + "\n"
        for n in (10, 0, 20)
    )
    bring(store, text, "--value", counts)
    assert rows(store, capsys, "session")[0][column] == expected


def test_fields_of_the_configuration(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A field whyflame does not have becomes one by configuration."""
    config = tmp_path / "c.yaml"
    config.write_text("fields: {group: span.group}\n")
    bring(store, LINES, "--config", str(config))
    words = ["totals", "--by", "group", "--where", "tool=bash", "--format", "json"]
    assert main([*words, "--config", str(config), "--data-dir", str(store)]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)["rows"][0]["group"] == "g1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"fields": {}}\n{broken\n', "line 2: not JSON"),
        ('{"fields": {}}\n\n[1]\n', "line 3: an operation is a JSON object"),
        ('{"fields": {}}\n{"fields": 7}\n', "line 2: `fields` is not an object"),
        ('{"fields": {}}\n{"value": -1, "fields": {}}\n', "line 2: `value` is no whole number"),
        ('{"value": 12, "fields": {}}\n', "line 1: value 12: say what values count with --value"),
    ],
)
def test_errors_name_the_line(
    store: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    file = bring(store, text, code=1)
    assert f"{file}: {said}" in capsys.readouterr().err


def test_tokens_of_a_tool_are_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"value": 5, "fields": {"session": "s", "kind": "tool", "tool": "bash"}}\n'
    bring(store, text, "--value", "input_tokens", code=1)
    assert "line 1: tokens of a tool operation" in capsys.readouterr().err
    bring(store, text, "--value", "potatoes", code=2)
