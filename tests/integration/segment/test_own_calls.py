"""The `llm` segmenter's own calls are operations of service `whyflame`, through the real store."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests import otlp
from tests.integration.segment.test_llm import GOOD, Endpoint
from tests.serving import Serving, wait_until

from whyflame.app.offline import import_captures, segment_now
from whyflame.app.own_calls import OwnCalls
from whyflame.cli import main
from whyflame.config import load
from whyflame.journal import JournalReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.config import Config

pytestmark = pytest.mark.timeout(120)

SECRET = "xylophone"


@pytest.fixture
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    made = Endpoint(getattr(request, "param", [json.dumps(GOOD)]))
    yield made
    made.close()


def settings(url: str, **more: Any) -> dict[str, Any]:
    options = {"endpoint": url, "model": "tiny-1"}
    return {
        "content": {"mode": "excerpt"},
        "segment": {"segmenter": "llm", "options": options},
        **more,
    }


def run_of(session: str, steps: int = 4) -> bytes:
    """One agent run with texts; the ids are made from the session's name."""
    trace = int.from_bytes(session.encode()[:8], "big") + 1
    rows = [
        otlp.Row("genai", "invoke_agent coder",
                 {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder",
                  "session.id": session}, trace=trace)
    ]  # fmt: skip
    rows += [
        otlp.Row(
            "genai", "chat m",
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "session.id": session,
             "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3,
             "gen_ai.input.messages": json.dumps(
                 [{"role": "user", "parts": [{"type": "text", "content": f"fix {SECRET} {session}"}]}]
             ),
             "gen_ai.output.messages": json.dumps(
                 [{"role": "assistant", "parts": [{"type": "text", "content": f"look {number}"}]}]
             )},
            trace=trace, id=2 + number, parent=1, start=10 * number, end=10 * number + 5,
        )
        for number in range(steps)
    ]  # fmt: skip
    return otlp.traces(*rows)


def own(serving: Serving) -> dict[str, Any] | None:
    rows = {row["service"]: row for row in serving.totals("service")}
    return rows.get("whyflame")


@pytest.mark.slow
def test_own_calls_are_counted_once(endpoint: Endpoint, tmp_path: Path) -> None:
    """Calls, tokens, model and path of what the segmenter asked; it never asks about that."""
    with Serving(tmp_path / "d", settings(endpoint.url)) as serving:
        for session in ("alpha", "beta"):
            serving.send([("traces", run_of(session))])
        wait_until(lambda: (own(serving) or {}).get("llm_calls") == len(endpoint.requests) == 2)
        for _ in range(3):  # nothing may follow from what was stored
            serving.settle()
        row = own(serving)
        assert row is not None
        assert len(endpoint.requests) == row["llm_calls"] == 2
        assert (row["input_tokens"], row["output_tokens"]) == (642, 90)
        assert row["llm_errors"] == 0
        assert row["duration_seconds"] > 0
        where = "where=service%3Dwhyflame&where=kind%3Dllm"
        (found,) = serving.get(f"/api/v1/totals?by=agent,model,provider,root&{where}")["rows"]
        assert (found["agent"], found["root"]) == ("segmenter", "find session tasks")
        assert (found["model"], found["provider"]) == ("tiny", "local")
        folded = serving.text("/api/v1/profile?format=folded&view=tokens&where=service%3Dwhyflame")
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == 732
        assert folded.startswith("segmenter;")
        assert ";find session tasks;" in folded
        assert SECRET not in folded
        # The agents' own sums are theirs alone.
        rows = {row["service"]: row for row in serving.totals("service")}
        assert (rows["app"]["llm_calls"], rows["app"]["input_tokens"]) == (8, 56)
    with Serving(tmp_path / "d", settings(endpoint.url)) as serving:
        serving.settle()
        assert (own(serving) or {})["llm_calls"] == 2
        assert len(endpoint.requests) == 2


def configured(tmp_path: Path, url: str) -> Config:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump(settings(url)))
    return load(file)


def own_calls(folder: Path, capsys: pytest.CaptureFixture[str], tenant: str = "") -> Any:
    """The row of the segmenter's calls in a store that is not in use; None when there is none."""
    command = ["totals", "--by", "service,model,error_type", "--where", "kind=llm"]
    command += ["--format", "json", "--data-dir", str(folder), "--tenant", tenant]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    return next((row for row in rows if row["service"] == "whyflame"), None)


def test_commands_on_files_account_as_well(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`import` and `segment` without a server: stored before they end, and not again."""
    config = configured(tmp_path, endpoint.url)
    for _ in range(2):
        import_captures(tmp_path / "d", config, [("traces", run_of("alpha"))])
        segment_now(tmp_path / "d", config, None, None)
    assert len(endpoint.requests) == 1
    row = own_calls(tmp_path / "d", capsys)
    assert (row["llm_calls"], row["input_tokens"]) == (1, 321)


def test_each_tenant_pays_for_its_own(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tenants with equal ids: one sees one call, the other two."""
    config = configured(tmp_path, endpoint.url)
    for tenant, sessions in {"red": ["s"], "blue": ["s", "t"]}.items():
        # Equal lanes would be answered from the cache.
        bodies = [("traces", run_of(session, 4 + (tenant == "red"))) for session in sessions]
        import_captures(tmp_path / "d", config, bodies, tenant)
    paid = [own_calls(tmp_path / "d", capsys, tenant) for tenant in ("red", "blue")]
    assert [row["llm_calls"] for row in paid] == [1, 2]


def test_failed_calls_are_errors_without_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An endpoint that is not there: the calls failed, their tokens are unknown, not 0."""
    config = configured(tmp_path, "http://127.0.0.1:9/v1")
    import_captures(tmp_path / "d", config, [("traces", run_of("alpha"))])
    row = own_calls(tmp_path / "d", capsys)
    assert (row["llm_calls"], row["llm_errors"], row["input_tokens"]) == (1, 1, None)
    assert (row["error_type"], row["model"]) == ("ConnectionRefusedError", "tiny-1")


def test_what_the_journal_refuses_waits(endpoint: Endpoint, tmp_path: Path) -> None:
    """A journal that cannot be written keeps the calls; they are written once, without a text."""
    from tests.integration.segment.test_llm import lane, segmenter

    made = segmenter(endpoint.url)
    made.segment(lane())
    calls = made.account.take_calls()
    blocked = tmp_path / "journal"
    blocked.write_text("a file where the folder should be")
    keeper = OwnCalls(blocked, time.time_ns)
    keeper.put("red", calls)
    blocked.unlink()
    keeper.put("red", [])
    keeper.close()
    reader = JournalReader(blocked / "own")
    (frame,) = reader.read(1 << 20)
    reader.close()
    assert frame.tenant == "red"
    assert b"login" not in frame.payload
