"""Forgetting touches nobody else: other tenants with equal ids, others in the same payloads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests import otlp
from tests.collector import free_port
from tests.made import SECOND, T0, operation, span, write_settled
from tests.serving import Serving, wait_until

from whyflame.cli import main
from whyflame.journal import JournalWriter, Signal
from whyflame.store.duck import Store
from whyflame.store.retention import Retention
from whyflame.store.settled import SettledWriter
from whyflame.store.spans import SpanWriter
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(180)


def call(agent: str, trace: int, session: str) -> otlp.Row:
    """One agent's model call."""
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "session.id": session,
        "gen_ai.agent.name": agent, "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 1,
    }  # fmt: skip
    return otlp.Row("genai", "chat", attributes, trace)


def test_another_tenant_with_equal_ids_keeps_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Session, trace and span ids are equal; rows, kept journal and dead letters stay apart."""
    data_dir = tmp_path / "d"
    writer = JournalWriter(data_dir / "journal", "r0")
    for tenant in ("red", "blue"):
        body = otlp.traces(call(f"agentOf{tenant}", 1, "same-session"))
        writer.append(body, signal=Signal.TRACES, received_ns=otlp.T0, tenant=tenant)
        folder = data_dir / "dead-letters" / f"tenant={tenant}"
        folder.mkdir(parents=True)
        (folder / "undecodable.traces.0.binpb").write_bytes(b"?")
    writer.close()
    config = tmp_path / "config.yaml"
    config.write_text("journal: {retention: 1d}\n")
    where = ["--data-dir", str(data_dir), "--config", str(config)]
    assert main(["segment", *where]) == 0
    assert main(["forget", "--session", "same-session", "--tenant", "red", *where]) == 0
    content = b"".join(file.read_bytes() for file in data_dir.rglob("*") if file.is_file())
    assert b"agentOfred" not in content
    assert b"agentOfblue" in content
    assert [file.parent.name for file in (data_dir / "dead-letters").rglob("*.binpb")] == [
        "tenant=blue"
    ]
    capsys.readouterr()
    for tenant, code in (("red", 3), ("blue", 0)):
        asked = ["sessions", "--tenant", tenant, "--where", "agent=~.*", *where]
        assert main(asked) in {code, 0}
    assert "same-session" in capsys.readouterr().out


def test_retention_keeps_tenants_apart(tmp_path: Path) -> None:
    """One tenant's trace goes by age while another's of equal ids stays."""
    store = Store(tmp_path / "w.duckdb")
    day = 86_400 * SECOND
    spans = [
        span(1, 1, tenant=tenant, session="s", start_ns=T0 + age * day, end_ns=T0 + age * day + 1)
        for tenant, age in (("red", 0), ("blue", 9))
    ]
    SpanWriter(store).append(spans, {}, {})
    group = Group(spans=spans, trace_keys=sorted({one.trace_key for one in spans}))
    write_settled(SettledWriter(store), group, [operation(one) for one in spans], [], T0)
    assert Retention(store, max_age_ns=3 * day).sweep(T0 + 10 * day).traces == 1
    rows = store.cursor().execute("SELECT tenant FROM traces").fetchall()
    assert rows == [("blue",)]
    assert store.cursor().execute("SELECT count(*) FROM operations").fetchall() == [(1,)]
    store.close()


@pytest.mark.slow
def test_payloads_that_wait_are_made_anew(tmp_path: Path) -> None:
    """A backend that is away: the forgotten name is in no payload, the other one still is."""
    backend = {"type": "pyroscope", "url": f"http://127.0.0.1:{free_port()}", "interval": "1s"}
    with Serving(tmp_path / "d", {"exporters": {"away": backend}}) as serving:
        both = otlp.traces(
            call("agentGone", 1, "session-gone"), call("agentKept", 2, "session-kept")
        )
        serving.send([("traces", both)])
        serving.settle()
        wait_until(lambda: waiting(serving), 60)
        url = f"http://{serving.api}"
        assert main(["forget", "--session", "session-gone", "--url", url]) == 0
        wait_until(lambda: waiting(serving), 60)
    with duckdb.connect(str(tmp_path / "d" / "whyflame.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT payload, series FROM outbox").fetchall()
        exported = connection.execute("SELECT count(*) FROM exported").fetchall()[0][0]
    assert exported == 1
    assert rows
    assert all(b"agentGone" not in bytes(body) + series.encode() for body, series in rows)
    assert any(b"agentKept" in bytes(body) + series.encode() for body, series in rows)


def waiting(serving: Serving) -> list[Any]:
    """Payloads that wait for the backend."""
    try:
        return list(serving.get("/api/v1/outbox")["payloads"])
    except (OSError, json.JSONDecodeError):
        return []
