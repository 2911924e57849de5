"""Session files of coding agents through the real store: sums, lanes, turns, growth, privacy."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.importers.histories import (
    CODEX_THREAD,
    SESSION,
    Claude,
    at,
    claude_code_span,
    claude_live_events,
    claude_live_spans,
    claude_project,
    claude_session,
    claude_subagent,
    codex_child,
    codex_line,
    codex_parent,
    codex_session,
    gemini_session,
    text,
    tokens,
    tool,
    write_lines,
)

from whyflame.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def bring(store: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Import paths; what the command said."""

    def run(*paths: Path, code: int = 0, options: tuple[str, ...] = ()) -> str:
        words = ["import", *map(str, paths), *options, "--data-dir", str(store)]
        assert main(words) == code
        return capsys.readouterr().err

    return run


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict[str, Any]]]:
    """Rows of totals by fields."""

    def run(by: str = "", *where: str) -> list[dict[str, Any]]:
        words = ["totals", "--format", "json", "--data-dir", str(store)]
        words += ["--by", by] if by else []
        for one in where:
            words += ["--where", one]
        assert main(words) == 0
        rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
        return rows

    return run


def sums(row: dict[str, Any]) -> tuple[int, ...]:
    names = ("llm_calls", "llm_errors", "tool_calls", "tool_errors", "input_tokens",
             "cache_read_tokens", "cache_write_tokens", "output_tokens")  # fmt: skip
    return tuple(row[name] for name in names)


def test_claude_code_counts_each_call_once(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Lines of one message are one call; a failed one has no usage; sub-agents are in."""
    bring(claude_project(tmp_path / "p"))
    (row,) = ask("session,service")
    assert (row["session"], row["service"]) == (SESSION, "claude-code")
    fresh, read, written = 10 + 5 + 7 + 4 + 20 + 3 + 2, 1000 + 1200 + 1300 + 1500 + 1600 + 400, 650
    said = 60 + 30 + 25 + 12 + 80 + 10 + 9
    assert sums(row) == (8, 1, 4, 1, fresh + read + written, read, written, said)
    assert row["calls_without_usage"] == 1
    models = {row["model"]: row["llm_calls"] for row in ask("model", "kind=llm")}
    assert models == {"claude-sonnet-4-5": 5, "claude-haiku-4-5": 2, None: 1}


def test_claude_code_structure(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Two turns; the sub-agent is a lane of its own below the tool call that started it."""
    bring(claude_project(tmp_path / "p"))
    calls = {row["turn"]: row["llm_calls"] for row in ask("turn")}
    assert calls == {0: 6, 1: 2}
    lanes = ask("lane,agent", "kind=llm")
    assert sorted((row["agent"], row["llm_calls"], row["lane"] == "main") for row in lanes) == [
        ("claude-code", 6, True), ("researcher", 2, False),
    ]  # fmt: skip
    tools = {row["tool"]: row for row in ask("tool", "kind=tool")}
    assert tools["Bash"]["tool_errors"] == 1
    assert tools["Bash"]["duration_seconds"] == 20
    assert tools["Read"]["duration_seconds"] == 0.25
    out = tmp_path / "bytes.folded"
    words = ["profile", "--measure", "output_bytes", "--stack", "tool", "--where", "kind=tool"]
    assert main([*words, "-o", str(out), "--data-dir", str(tmp_path / "store")]) == 0
    assert "Bash 8" in out.read_text().splitlines()  # "1 failed"


def test_any_file_of_a_session_brings_all_of_it(tmp_path: Path, bring: Any, ask: Any) -> None:
    """The sub-agent's file leads to its session, and the other way round."""
    project = claude_project(tmp_path / "p")
    bring(project / SESSION / "subagents" / "agent-a1.jsonl")
    (first,) = ask()
    said = bring(project / f"{SESSION}.jsonl")
    assert " 0 new spans" in said
    bring(project)
    assert ask() == [first]
    assert first["llm_calls"] == 8


def test_older_places_of_subagents(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Beside the session's file, and as lines of it."""
    beside = tmp_path / "beside"
    write_lines(beside / f"{SESSION}.jsonl", claude_session())
    write_lines(beside / "agent-a1.jsonl", claude_subagent())
    bring(beside)
    c, side = Claude("inline"), Claude("inline", isSidechain=True)
    c.user(0, "fix the clock", prefix="main")
    c.say(3, "i1", tool("j1", "Task", subagent_type="researcher", prompt="find the cause"),
          (7, 0, 0, 2))  # fmt: skip
    side.user(4, "find the cause", prefix="side")
    side.say(9, "i2", text("found"), (2, 400, 0, 9), "end_turn")
    c.lines += side.lines
    c.result(10, "j1", "found")
    write_lines(tmp_path / "inline" / "inline.jsonl", c.lines)
    bring(tmp_path / "inline")
    rows = ask("session,agent", "kind=llm")
    found = {(row["session"], row["agent"]): row["llm_calls"] for row in rows}
    assert found[SESSION, "researcher"] == 2
    assert found["inline", "researcher"] == found["inline", "claude-code"] == 1


@pytest.mark.parametrize("cut", [1, 3, 5, 8, 9, 12, 15])
def test_a_growing_file_ends_as_one_import(
    tmp_path: Path, bring: Any, ask: Any, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Imported after any line and again when complete: the same sums, structure and times."""
    lines = claude_session()
    fields = "turn,lane,agent,model,tool,kind,status"
    claude_project(tmp_path / "p", lines[:cut])
    bring(tmp_path / "p")
    claude_project(tmp_path / "p", lines)
    bring(tmp_path / "p")
    grown = ask(fields)
    other = tmp_path / "store2"
    assert main(["import", str(tmp_path / "p"), "--data-dir", str(other)]) == 0
    assert main(["totals", "--by", fields, "--format", "json", "--data-dir", str(other)]) == 0
    assert grown == json.loads(capsys.readouterr().out)["rows"]


def test_a_line_that_is_still_written_waits(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Half a last line is left for the next time; a broken one in between is passed over."""
    lines = claude_session()
    file = tmp_path / f"{SESSION}.jsonl"
    whole = json.dumps(lines[5])  # begins the second call
    write_lines(file, lines[:5], tail=whole[:40])
    bring(file)
    assert ask()[0]["llm_calls"] == 1
    write_lines(file, lines[:5], tail=f"{whole}\n{{broken\n{json.dumps(lines[6])}\n")
    bring(file)
    row = ask()[0]
    assert (row["llm_calls"], row["tool_errors"]) == (2, 1)


def test_no_text_is_kept_by_default(tmp_path: Path, bring: Any, store: Path) -> None:
    """Content modes hold for histories: no word of a path, a prompt or a result in the store."""
    c = Claude("private")
    c.user(0, "ask zanzibar about the quokka password=hunter22")
    c.say(3, "m1", tool("t1", "Bash", command="cat /home/zebulon/quokka.txt"), (1, 0, 0, 1))
    c.result(4, "t1", "hunter22 zanzibar")
    write_lines(tmp_path / "private.jsonl", c.lines)
    bring(tmp_path / "private.jsonl")
    held = b"".join(file.read_bytes() for file in store.rglob("*") if file.is_file())
    for word in (b"hunter22", b"zebulon", b"/home/"):
        assert word not in held


def test_codex(tmp_path: Path, bring: Any, ask: Any) -> None:
    """One count of tokens is one call; the cache is part of the input; told twice is counted once."""
    file = tmp_path / "2026" / "rollout-x.jsonl"
    write_lines(file, codex_session())
    bring(tmp_path / "2026")
    (row,) = ask("session,service,provider", "kind=llm")
    assert (row["session"], row["service"]) == (CODEX_THREAD, "codex")
    assert (row["llm_calls"], row["input_tokens"], row["cache_read_tokens"]) == (3, 3700, 2100)
    assert (row["output_tokens"], row["reasoning_tokens"]) == (170, 70)
    (tools,) = ask("tool", "kind=tool")
    assert (tools["tool_calls"], tools["tool_errors"]) == (2, 1)
    assert {r["turn"]: r["llm_calls"] for r in ask("turn", "kind=llm")} == {0: 2, 1: 1}
    steps = {(r["turn"], r["step"]): r["tool_calls"] for r in ask("turn,step", "kind!=agent")}
    assert steps == {(0, 0): 2, (0, 1): 0, (1, 2): 0}
    assert " 0 new spans" in bring(file)


@pytest.mark.parametrize("cut", [4, 7, 8, 10, 13, 18])
def test_codex_grows(tmp_path: Path, bring: Any, ask: Any, cut: int) -> None:
    """Read in pieces is read at once."""
    file = tmp_path / "rollout-x.jsonl"
    write_lines(file, codex_session()[:cut])
    bring(file)
    write_lines(file, codex_session())
    bring(file)
    (row,) = ask("", "kind=llm")
    assert (row["llm_calls"], row["input_tokens"], row["output_tokens"]) == (3, 3700, 170)


def test_a_codex_thread_passes_over_what_it_copied(tmp_path: Path, bring: Any, ask: Any) -> None:
    """A sub-agent's file begins with its parent's lines; it belongs to the parent's session."""
    write_lines(tmp_path / "rollout-a.jsonl", codex_session())
    child = "019a0000-0000-7000-8000-000000000002"
    spawn = {
        "subagent": {"thread_spawn": {"parent_thread_id": CODEX_THREAD, "agent_role": "tester"}}
    }
    lines = [
        codex_line(50, "session_meta", id=child, timestamp=at(50), source=spawn),
        *codex_session(),
        codex_line(51, "event_msg", "task_started", started_at=at(51)),
        codex_line(51, "event_msg", "user_message", message="run the tests"),
        codex_line(55, "response_item", "message", role="assistant",
                   content=[{"type": "output_text", "text": "they pass"}]),
        tokens(55, (3800, 2100, 180, 70), (100, 0, 10, 0)),
    ]  # fmt: skip
    write_lines(tmp_path / "rollout-b.jsonl", lines)
    bring(tmp_path)
    rows = {row["agent"]: row for row in ask("session,agent", "kind=llm")}
    assert {row["session"] for row in rows.values()} == {CODEX_THREAD}
    assert (rows["tester"]["llm_calls"], rows["tester"]["input_tokens"]) == (1, 100)
    assert rows["codex"]["llm_calls"] == 3


@pytest.mark.parametrize(("tell", "first"), [("output", "parent"), ("event", "child")])
def test_a_codex_sub_agent_is_a_lane_below_the_call_that_started_it(
    tmp_path: Path, bring: Any, ask: Any, tell: str, first: str, capsys: Any
) -> None:
    """Whichever file was read first, and in the turn of its parent."""
    files = {
        "parent": write_lines(tmp_path / "rollout-a.jsonl", codex_parent(tell)),
        "child": write_lines(tmp_path / "rollout-b.jsonl", codex_child()),
    }
    bring(files.pop(first))
    bring(*files.values())
    rows = ask("agent,session,turn,lane,step", "kind=llm")
    places = [(row["agent"], row["turn"], row["lane"] == "main", row["step"]) for row in rows]
    assert sorted(places) == [
        ("codex", 0, True, 0), ("codex", 0, True, 1), ("codex", 1, True, 2),
        ("tester", 0, False, 0), ("tester", 0, False, 1),
    ]  # fmt: skip
    assert {row["session"] for row in rows} == {CODEX_THREAD}
    words = ["session", CODEX_THREAD, "--format", "json", "--data-dir", str(tmp_path / "store")]
    assert main(words) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    hung = [(lane["parent"], lane["parent_step"]) for lane in run["lanes"]]
    assert hung == [(None, None), ("main", 0)]


def test_gemini(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Thoughts lie beside the output, what was cached inside the input."""
    file = tmp_path / "session-1.json"
    file.write_text(json.dumps(gemini_session()))
    bring(file)
    (row,) = ask("session,service,model", "kind=llm")
    assert (row["session"], row["model"]) == ("gem-1", "gemini-2.5-pro")
    assert (row["llm_calls"], row["input_tokens"], row["cache_read_tokens"]) == (2, 1100, 100)
    assert (row["output_tokens"], row["reasoning_tokens"]) == (55, 30)
    (tools,) = ask("tool", "kind=tool")
    assert (tools["tool"], tools["tool_calls"], tools["tool_errors"]) == ("run_shell_command", 1, 1)
    assert " 0 new spans" in bring(file)


def test_an_orphan_is_an_error_by_name_and_passed_over_in_a_folder(
    tmp_path: Path, bring: Any
) -> None:
    """Without its session nobody knows what started a sub-agent; taken in later it would double."""
    file = write_lines(tmp_path / "x" / "agent-a1.jsonl", claude_subagent())
    assert f"{SESSION}.jsonl, is not there" in bring(file, code=1)
    assert f"passed over {file}" in bring(tmp_path / "x", code=3)


def test_an_unknown_format_says_what_is_known(tmp_path: Path, bring: Any) -> None:
    file = write_lines(tmp_path / "x.jsonl", [{"hello": "world"}])
    said = bring(file, code=1)
    assert str(file) in said
    for known in ("OTLP", "Claude Code", "Codex", "Gemini", "operation JSONL"):
        assert known in said


def test_a_long_import_tells_how_far_it_is(
    tmp_path: Path, bring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyflame.cli.ingest.PROGRESS_SECONDS", 0.0)
    project = claude_project(tmp_path / "p")
    said = bring(project)
    assert "file 1 of 2, 0 requests so far" in said
    assert f"file 2 of 2, 1 requests so far: {project / SESSION}.jsonl" in said


def test_a_call_seen_live_and_in_a_history_counts_once(
    tmp_path: Path, bring: Any, ask: Any
) -> None:
    """The same request id, tokens and time: one call, whichever came first."""
    bring(claude_project(tmp_path / "p"))
    sent = claude_code_span(SESSION, "req_m1", at_ms=1000, tokens=(10, 1000, 200, 60))
    (tmp_path / "live.binpb").write_bytes(sent)
    bring(tmp_path / "live.binpb")
    (row,) = ask("", "kind=llm")
    assert row["llm_calls"] == 8


def live_files(folder: Path, signal: str, *, ids: bool, only: slice = slice(None)) -> list[Path]:
    """The session as it was sent, in files."""
    if signal == "traces":
        bodies = [claude_live_spans(ids=ids)]
    else:
        bodies = claude_live_events(ids=ids)[only]
    paths = [folder / f"{number:02d}-{signal}.binpb" for number in range(len(bodies))]
    folder.mkdir(exist_ok=True)
    for path, body in zip(paths, bodies, strict=True):
        path.write_bytes(body)
    return paths


@pytest.mark.parametrize(
    ("signal", "ids", "first"),
    [("traces", True, "live"), ("traces", False, "history"), ("logs", False, "live")],
)
def test_a_session_received_live_and_imported_counts_once(
    tmp_path: Path, bring: Any, ask: Any, signal: str, ids: bool, first: str
) -> None:
    """Calls, tools, failures, turns, lanes and time are those of the live session alone."""
    live, project = live_files(tmp_path / "live", signal, ids=ids), claude_project(tmp_path / "p")
    bring(*live)
    by = "session,run,turn,lane,agent,kind,tool,status"
    wanted = ask(by)
    assert sums(ask()[0]) == (8, 1, 4, 1, 51 + 7000 + 650, 7000, 650, 226)
    if first == "history":
        shutil.rmtree(tmp_path / "store")
        bring(project)
        bring(*live)
    else:
        bring(project)
    assert ask(by) == wanted


def test_what_only_the_history_has_counts_from_there(tmp_path: Path, bring: Any, ask: Any) -> None:
    """Telemetry was switched on in the middle of the session."""
    project = claude_project(tmp_path / "p")
    bring(project)
    whole = sums(ask()[0])
    bring(*live_files(tmp_path / "live", "logs", ids=True, only=slice(9, None)))
    assert sums(ask()[0]) == whole
