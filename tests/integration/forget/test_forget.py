"""After `whyflame forget` no byte of the session or user is left in any file."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests import otlp
from tests.serving import Serving

from whyflame.cli import main
from whyflame.journal import JournalReader, JournalWriter, Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(180)

GONE = {
    "session": "conversation-of-ada-4711",
    "user": "ada.lovelace",
    "agent": "agentForAda",
    "tool": "toolForAda",
    "service": "serviceForAda",
    "text": "zanzibar voucher",
}
KEPT = {
    "session": "conversation-of-bob-0815",
    "user": "bob.kahn",
    "agent": "agentForBob",
    "tool": "toolForBob",
    "service": "serviceForBob",
    "text": "antarctic invoice",
}


def run_of(person: dict[str, str], trace: int) -> list[otlp.Row]:
    """An agent run with content: a call, and a tool."""
    ids = {"session.id": person["session"], "user.id": person["user"]}
    messages = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": f"Refund the {person['text']}"}]}]
    )
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": person["agent"]}
    call = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": messages,
    }  # fmt: skip
    tool = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": person["tool"],
        "gen_ai.tool.call.arguments": json.dumps({"query": person["text"]}),
    }  # fmt: skip
    service = person["service"]
    return [
        otlp.Row("genai", "invoke_agent", ids | agent, trace, 1, service=service),
        otlp.Row("genai", "chat", ids | call, trace, 2, 1, 5, 20, service=service),
        otlp.Row("genai", "execute_tool", ids | tool, trace, 3, 1, 20, 30, service=service),
    ]


def fill(data_dir: Path, config: dict[str, Any]) -> None:
    """Journal both people's runs in one request, and one more each, as a receiver does."""
    writer = JournalWriter(data_dir / "journal", "r0")
    first, second = 0xADA << 64, 0xB0B << 64
    for rows in (
        [*run_of(GONE, first), *run_of(KEPT, second)],
        run_of(GONE, first + 1),
        run_of(KEPT, second + 1),
    ):
        writer.append(otlp.traces(*rows), signal=Signal.TRACES, received_ns=otlp.T0)
    writer.close()
    (data_dir / "dead-letters").mkdir()
    (data_dir / "dead-letters" / "undecodable.traces.00.binpb").write_bytes(b"ada.lovelace")
    config_file(data_dir).write_text(json.dumps(config))


def config_file(data_dir: Path) -> Path:
    """Beside the data, not in it."""
    return data_dir.parent / "config.yaml"


def files_of(data_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Every file as it is, and every database without compression and as rows."""
    for file in sorted(data_dir.rglob("*")):
        if not file.is_file():
            continue
        data = file.read_bytes()
        yield str(file), data
        with contextlib.suppress(gzip.BadGzipFile):
            yield f"{file} (inflated)", gzip.decompress(data)
        if file.suffix == ".duckdb":
            plain = data_dir.parent / "plain.duckdb"
            plain.unlink(missing_ok=True)
            with duckdb.connect() as connection:
                connection.execute("SET force_compression = 'uncompressed'")
                connection.execute(f"ATTACH '{file}' AS old (READ_ONLY)")
                connection.execute(f"ATTACH '{plain}' AS plain")
                connection.execute("COPY FROM DATABASE old TO plain")
            yield f"{file} (uncompressed)", plain.read_bytes()


def found_in(data_dir: Path, person: dict[str, str]) -> set[str]:
    """Which facts about a person can be read in any file."""
    hidden = {
        *(text.encode() for text in person.values()),
        (0xADA << 64).to_bytes(16, "big")[:8] if person is GONE else b"\x00" * 200_000,
    }
    found = set()
    for name, data in files_of(data_dir):
        found |= {f"{text!r} in {name}" for text in hidden if text in data}
    return found


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A store with kept journal, excerpts, and both people's runs."""
    directory = tmp_path / "d"
    directory.mkdir()
    fill(
        directory,
        {
            "content": {"mode": "excerpt"}, "journal": {"retention": "1h"},
            "exporters": {
                "out": {"type": "files", "directory": str(tmp_path / "out")},
                "peer": {"type": "forward", "url": "http://127.0.0.1:9"},
            },
        },
    )  # fmt: skip
    return directory


def command(data_dir: Path, *words: str) -> int:
    """One command on the store."""
    return main([*words, "--data-dir", str(data_dir), "--config", str(config_file(data_dir))])


def totals(data_dir: Path, capsys: pytest.CaptureFixture[str], by: str) -> list[dict[str, Any]]:
    """Rows of `totals`."""
    assert command(data_dir, "totals", "--by", by, "--format", "json") == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


@pytest.mark.parametrize("what", ["session", "user"])
def test_no_byte_is_left(data_dir: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Names, ids and texts are in no file, raw or decompressed; the other person's data is whole."""
    assert command(data_dir, "segment") == 0
    # What is to vanish could be found before.
    before = " ".join(found_in(data_dir, GONE))
    for fact in ("session", "user", "agent", "tool", "service", "text"):
        assert GONE[fact] in before
    capsys.readouterr()
    assert command(data_dir, "forget", f"--{what}", GONE[what], "--format", "json") == 0
    done = json.loads(capsys.readouterr().out)
    # Two requests in the journal, and the same two in the spool for the peer.
    assert (done["traces"], done["spans"], done["requests"], done["dead_letters"]) == (2, 6, 4, 1)
    assert found_in(data_dir, GONE) == set()
    rows = totals(data_dir, capsys, "session,agent")
    assert [(row["session"], row["agent"], row["llm_calls"]) for row in rows] == [
        (KEPT["session"], KEPT["agent"], 2)
    ]


def test_remainders_of_cost_name_nobody(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What exporters keep for a series goes when one of its names occurs nowhere any more."""
    assert command(data_dir, "segment") == 0
    with duckdb.connect(str(data_dir / "whyflame.duckdb")) as connection:
        for person in (GONE, KEPT):
            series = [["__name__", "agent"], ["agent", person["agent"]], ["model", "gpt-5"]]
            connection.execute(
                "INSERT INTO carry VALUES ('out', '', ?, 7, 1, 1)", [json.dumps(series)]
            )
    assert command(data_dir, "forget", "--session", GONE["session"]) == 0
    capsys.readouterr()
    assert found_in(data_dir, GONE) == set()
    with duckdb.connect(str(data_dir / "whyflame.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT series FROM carry").fetchall()
    assert [KEPT["agent"] in row[0] for row in rows] == [True]


def test_the_store_goes_on(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is sent after forgetting is stored, settled and named as ever; kept requests too."""
    assert command(data_dir, "segment") == 0
    assert command(data_dir, "forget", "--session", GONE["session"]) == 0
    writer = JournalWriter(data_dir / "journal", "r0")
    again = otlp.traces(*run_of(GONE, 77))
    writer.append(again, signal=Signal.TRACES, received_ns=otlp.T0)
    writer.close()
    assert command(data_dir, "segment") == 0
    capsys.readouterr()
    rows = totals(data_dir, capsys, "agent,tool")
    assert {(row["agent"], row["tool"]) for row in rows} >= {
        (KEPT["agent"], KEPT["tool"]),
        (GONE["agent"], GONE["tool"]),
    }
    frames = JournalReader(data_dir / "journal" / "r0").read(1 << 30)
    spans = [
        span.name
        for frame in frames
        for group in request_class(Signal.TRACES).FromString(frame.payload).resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]
    assert len(spans) == 9  # two kept runs and the one that came again


def test_nothing_to_forget(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, as for every question without an answer."""
    (data_dir / "dead-letters" / "undecodable.traces.00.binpb").unlink()
    assert command(data_dir, "forget", "--session", "never-seen-here") == 3
    capsys.readouterr()


@pytest.mark.slow
def test_a_running_server_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command waits while the server forgets; acknowledged spans of others stay."""
    settings = {"content": {"mode": "excerpt"}, "journal": {"retention": "1h"}}
    with Serving(tmp_path / "d", settings) as serving:
        first, second = 0xADA << 64, 0xB0B << 64
        both = otlp.traces(*run_of(GONE, first), *run_of(KEPT, second))
        serving.send([("traces", both)])
        serving.settle()
        url = f"http://{serving.api}"
        assert main(["forget", "--user", GONE["user"], "--url", url, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["traces"] == 1
        # Receivers were there all the time.
        serving.send([("traces", otlp.traces(*run_of(KEPT, second + 1)))])
        serving.settle()
        (row,) = serving.totals("session")
        assert (row["session"], row["llm_calls"]) == (KEPT["session"], 2)
    assert found_in(tmp_path / "d", GONE) == set()
