"""Which session an operation belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.otlp import Row, traces

from whyflame.dialects import read_traces
from whyflame.settle.counting import count
from whyflame.settle.sessions import resolve_sessions

if TYPE_CHECKING:
    from whyflame.model import Operation

CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 10,
}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}


def settle(*rows: Row, **resource: Any) -> list[Operation]:
    spans = read_traces(traces(*rows, **resource), tenant="", received_ns=1)
    for key, span in enumerate(spans, start=1):
        span.span_key = key
    operations = count(spans)
    resolve_sessions(operations)
    return operations


def sessions(*rows: Row, **resource: Any) -> list[str | None]:
    return [op.session if op.session_known else None for op in settle(*rows, **resource)]


def test_inherited_downwards_and_from_the_outermost() -> None:
    """A sub-agent's own conversation is no session of its own."""
    found = settle(
        Row("x", "root", {**AGENT, "gen_ai.conversation.id": "main"}),
        Row("x", "tool", {"gen_ai.operation.name": "execute_tool"}, id=2, parent=1),
        Row("x", "sub", {**AGENT, "gen_ai.conversation.id": "fresh"}, id=3, parent=2),
        Row("x", "call", {**CALL, "gen_ai.conversation.id": "fresh"}, id=4, parent=3),
    )
    assert {op.session for op in found} == {"main"}
    assert found[3].span.conversation == "fresh"


def test_explicit_before_conversation() -> None:
    """On one span, the session id decides; the thread is the conversation."""
    both = {**CALL, "session.id": "s", "gen_ai.conversation.id": "c"}
    assert sessions(Row("x", "call", both)) == ["s"]


def test_never_a_response_id() -> None:
    """Some producers put the previous response's id where the conversation belongs."""
    call = {**CALL, "gen_ai.response.id": "r1"}
    found = settle(
        Row("x", "first", call),
        Row("x", "second", {**CALL, "gen_ai.conversation.id": "r1"}, id=2),
        Row("x", "third", {**CALL, "gen_ai.conversation.id": "resp_9"}, trace=2),
    )
    assert [op.session_known for op in found] == [False, False, False]
    assert found[2].session == "trace:" + (2).to_bytes(16, "big").hex()


def test_roots_without_an_id_follow_their_trace() -> None:
    """Steps that are roots of their own take what most of the trace has."""
    step = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    found = sessions(
        Row("x", "call", {**CALL, "gen_ai.conversation.id": "c"}),
        Row("x", "tool", step, id=2),
        Row("x", "lost", step, id=3, parent=77),
    )
    assert found == ["c", "c", "c"]


def test_links_lead_back() -> None:
    """A background run that only links to its origin belongs there, with its children."""
    found = sessions(
        Row("x", "root", {**AGENT, "session.id": "s"}),
        Row("x", "background", AGENT, trace=2, id=5, links=((1, 1),)),
        Row("x", "call", CALL, trace=2, id=6, parent=5),
    )
    assert found == ["s", "s", "s"]


def test_the_resource_comes_last() -> None:
    """One process, one session: the resource says it when no span does."""
    assert sessions(Row("x", "call", CALL), **{"session.id": "r"}) == ["r"]
    own = Row("x", "call", {**CALL, "session.id": "s"})
    assert sessions(own, **{"session.id": "r"}) == ["s"]


def test_views_in_other_traces_belong_together() -> None:
    """The SDK's own trace goes where the framework's view of the call is, and the other way."""
    framework = Row("fw", "call", {**CALL, "session.id": "s"})
    own = Row("com.anthropic.sdk.python", "own", CALL, trace=2, start=1, end=99)
    assert sessions(framework, own) == ["s", "s"]
    bare = Row("fw", "call", CALL)
    named = Row("com.anthropic.sdk.python", "own", {**CALL, "session.id": "s"}, trace=2, start=1)
    assert sessions(bare, named) == ["s", "s"]


def test_operating_system_threads_are_no_sessions() -> None:
    """thread.id is a number of the operating system, langsmith's session name a project."""
    attributes = {**CALL, "thread.id": 7, "langsmith.trace.session_name": "default"}
    assert sessions(Row("x", "call", attributes)) == [None]


def test_users_are_inherited() -> None:
    """The nearest span with a user says who asked."""
    found = settle(
        Row("x", "root", {**AGENT, "user.id": "u"}), Row("x", "call", CALL, id=2, parent=1)
    )
    assert [op.user for op in found] == ["u", "u"]
