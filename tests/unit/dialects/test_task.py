"""What the client says a session is for."""

from __future__ import annotations

from tests.otlp import Row, traces

from whyflame.dialects import read_traces


def test_task_stands_for_the_request_where_work_begins() -> None:
    """`whyflame.task` is the request of roots and agents, not of every span that carries it."""
    said = {"whyflame.task": "refund a customer"}
    agent = {**said, "gen_ai.operation.name": "invoke_agent"}
    tool = {**said, "gen_ai.operation.name": "execute_tool"}
    body = traces(Row("t", "agent", agent), Row("t", "tool", tool, id=2, parent=1))
    root, call = read_traces(body, tenant="", received_ns=1)
    assert root.content is not None
    assert root.content.prompt == "refund a customer"
    assert call.content is None or call.content.prompt is None
