"""Each call once: what is merged, what is not, and which view gives what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.otlp import MS, T0, Row, logs, traces
from tests.sums import sum_operations

from whyflame.dialects import read_logs, read_traces
from whyflame.model import Kind, Operation, Span, Status
from whyflame.settle.control import is_control
from whyflame.settle.counting import count
from whyflame.settle.views import same_tool

GEMINI = {
    "event.name": "gemini_cli.api_response", "model": "gemini-2.5-flash", "output_token_count": 10,
    "cached_content_token_count": 60, "thoughts_token_count": 5, "duration_ms": 50,
}  # fmt: skip
ANTHROPIC, OPENAI = "com.anthropic.sdk.python", "opentelemetry.instrumentation.openai.v1"


def settle(*payloads: bytes) -> list[Operation]:
    spans: list[Span] = []
    for payload in payloads:
        spans += read_traces(payload, tenant="", received_ns=1)
    return number(spans)


def number(spans: list[Span]) -> list[Operation]:
    for key, span in enumerate(spans, start=1):
        span.span_key = key
    return count(spans)


def rows(*made: Row, **resource: Any) -> list[Operation]:
    return settle(traces(*made, **resource))


def chat(input_tokens: int = 100, output_tokens: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": input_tokens,
        "gen_ai.usage.output_tokens": output_tokens,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def silent(**more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "m",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def agent(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}


def tool(name: str | None, **more: Any) -> dict[str, Any]:
    named = {"gen_ai.tool.name": name} if name else {}
    return {"gen_ai.operation.name": "execute_tool", **named, **more}


def total(operations: list[Operation], *keys: str) -> tuple[Any, ...]:
    sums = sum_operations(operations)
    return tuple(sums[key] for key in keys)


CALLS = ("llm_calls", "input_tokens", "output_tokens")


def test_nested_views_are_one_call() -> None:
    """The outer view gives the place, the inner one the figures, gaps come from the other."""
    operations = rows(
        Row("fw", "outer", chat(100, 10, gen_ai__usage__reasoning__output_tokens=4)),
        Row(OPENAI, "inner", chat(100, 10), id=2, parent=1, start=1, end=90),
    )
    outer, inner = operations
    assert total(operations, *CALLS, "reasoning_tokens") == (1, 100, 10, 4)
    assert (outer.counted, outer.output_visible, outer.reasoning) == (True, 6, 4)
    assert (inner.counted, inner.why, inner.same_as) == (False, "same_call", 1)


def test_the_view_nearest_the_wire_is_believed() -> None:
    """An instrumentation that counts the first chunk twice is overruled by the SDK's own span."""
    operations = rows(
        Row("opentelemetry.instrumentation.anthropic", "a", chat(1103, 42)),
        Row(ANTHROPIC, "b", chat(1103, 41), id=2, parent=1, start=1, end=90),
    )
    assert total(operations, *CALLS) == (1, 1103, 41)


def test_a_wrapper_around_several_calls() -> None:
    """Calls inside a wrapper count, the wrapper does not."""
    operations = rows(
        Row("fw", "outer", chat(300, 30)),
        Row(OPENAI, "a", chat(100, 10), id=2, parent=1, start=1, end=40),
        Row(OPENAI, "b", chat(200, 20), id=3, parent=1, start=50, end=90),
    )
    assert total(operations, *CALLS) == (2, 300, 30)
    assert operations[0].why == "wrapper"


def test_tools_and_agents_part_calls() -> None:
    """A model call below a tool or an agent of another call is a call of its own."""
    for between in (tool("sub"), agent("sub")):
        operations = rows(
            Row("ai", "outer", chat(100, 10)),
            Row("ai", "between", between, id=2, parent=1, start=10, end=90),
            Row("ai", "inner", chat(100, 10), id=3, parent=2, start=20, end=80),
        )
        assert total(operations, *CALLS) == (2, 200, 20)


def test_an_sdk_that_traces_itself_in_a_trace_of_its_own() -> None:
    """Matched by time, model and usage, one to one."""
    made = []
    for at in range(3):
        start = at * 200.0
        made += [
            Row("fw", "call", chat(100, 10), id=at + 2, parent=1, start=start, end=start + 100),
            Row(ANTHROPIC, "own", chat(100, 10), trace=at + 2, start=start + 2, end=start + 99),
        ]
    operations = rows(Row("fw", "root", agent(), end=1000), *made)
    assert total(operations, *CALLS) == (3, 300, 30)
    views = [op for op in operations if op.why == "same_call"]
    assert len({op.same_as for op in views}) == 3


def test_parallel_equal_calls_stay_apart() -> None:
    """Equal calls of one scope are calls, even with an id that a local server repeats."""
    made = [
        Row("fw", "call", chat(gen_ai__response__id="resp_1"), id=n, parent=1, start=n, end=90 + n)
        for n in (2, 3, 4)
    ]
    assert total(rows(Row("fw", "root", agent(), end=200), *made), *CALLS) == (3, 300, 30)


@pytest.mark.parametrize(
    "inner",
    [
        Row(OPENAI, "later", chat(), trace=2, start=60, end=160),
        Row(OPENAI, "other usage", chat(100, 11), trace=2, start=5, end=90),
        Row(OPENAI, "other model", chat(gen_ai__request__model="b"), trace=2, start=5, end=90),
        Row(OPENAI, "other id", chat(gen_ai__response__id="r2"), trace=2, start=5, end=90),
        Row(OPENAI, "other service", chat(), trace=2, start=5, end=90, service="elsewhere"),
    ],
    ids=lambda row: row.name,
)
def test_what_contradicts_is_not_merged(inner: Row) -> None:
    """A wrong merge of two real calls would be worse than a duplicate."""
    outer = Row("fw", "outer", chat(gen_ai__request__model="a", gen_ai__response__id="r1"))
    assert total(rows(outer, inner), "llm_calls") == (2,)


def test_a_silent_framework_and_a_client_that_knows() -> None:
    """A streamed call without usage takes the figures of the client's span inside it."""
    operations = rows(
        Row("fw", "stream", silent(), parent=9),
        Row(OPENAI, "client", chat(89, 11), trace=2, start=3, end=95),
    )
    assert total(operations, *CALLS, "calls_without_usage") == (1, 89, 11, 0)
    assert operations[0].counted


def test_gateway_mirrors() -> None:
    """The gateway's view of a call, in its own trace, is the same call by response id and usage."""
    call = chat(gen_ai__response__id="gen-1")
    operations = rows(
        Row("app", "root", agent()),
        Row("app", "call", call, id=2, parent=1),
        Row("gateway", "mirror", call, trace=2, start=-20, end=130, service="gateway"),
        Row("gateway", "upstream", call, trace=2, id=2, parent=1, start=1, service="gateway"),
    )
    assert total(operations, *CALLS) == (1, 100, 10)
    assert operations[1].counted
    assert "mirror" in {op.why for op in operations}


def test_two_agents_with_one_id_made_two_calls() -> None:
    """Model servers that restart give out the same ids: equal answers, seconds apart."""
    call = chat(gen_ai__response__id="resp_1")
    operations = rows(
        Row("one", "root", agent()),
        Row("one", "call", call, id=2, parent=1),
        Row("two", "root", agent(), trace=2, start=9000, end=9100, service="other"),
        Row("two", "call", call, trace=2, id=2, parent=1, start=9000, end=9100, service="other"),
    )
    assert total(operations, *CALLS) == (2, 200, 20)


def test_equal_spans_with_other_ids() -> None:
    """One request written twice, to the nanosecond the same."""
    made = [Row("litellm", "litellm_request", chat(), id=n, parent=9) for n in (1, 2)]
    operations = rows(*made)
    assert total(operations, *CALLS) == (1, 100, 10)
    assert operations[1].why == "repeated"


def test_repeats_and_the_richer_arrival() -> None:
    """A span that arrives twice counts once, with what the richer arrival says."""
    pending = traces(Row("x", "call", {"gen_ai.operation.name": "chat"}))
    ended = traces(Row("x", "call", chat()))
    for order in ((pending, ended), (ended, pending), (ended, ended, pending)):
        assert total(settle(*order), *CALLS) == (1, 100, 10)


def test_agents_never_pay() -> None:
    """Sums on agent spans are claims, except of a remote agent that nobody can see into."""
    usage = {"gen_ai.usage.input_tokens": 700, "gen_ai.usage.output_tokens": 70}
    assert total(rows(Row("x", "local", agent(**usage))), *CALLS) == (0, None, None)
    assert total(rows(Row("x", "remote", agent(**usage), kind=3)), *CALLS) == (0, 700, 70)
    seen = rows(
        Row("x", "remote", agent(**usage), kind=3),
        Row("y", "call", chat(700, 70), id=2, parent=1, service="there"),
    )
    assert total(seen, *CALLS) == (1, 700, 70)


def test_one_agent_run_in_two_spans() -> None:
    """invoke_agent and the workflow below it are one run; another agent is another."""
    operations = rows(
        Row("x", "invoke", agent("a")),
        Row("x", "workflow", agent("a"), id=2, parent=1),
        Row("x", "inner", agent("b"), id=3, parent=2),
    )
    assert [(op.counted, op.why) for op in operations] == [
        (True, None),
        (False, "wrapper"),
        (True, None),
    ]


def test_no_response_no_call() -> None:
    """A request that is only prepared is no call; a failed one is."""
    prepared = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    operations = rows(Row("x", "prepared", prepared), Row("x", "failed", prepared, id=2, status=2))
    assert [op.why for op in operations] == ["no_response", None]
    assert total(operations, "llm_calls", "llm_errors", "calls_without_usage") == (1, 1, 1)


def test_a_call_with_unbelievable_figures_is_a_call() -> None:
    """Concatenated numbers are not believed, but they were reported."""
    operations = rows(Row("x", "c", chat("800" * 8, "42" * 8)))  # type: ignore[arg-type]
    assert total(operations, *CALLS, "calls_without_usage") == (1, None, None, 1)


def test_tools_seen_by_client_and_server() -> None:
    """Framework, MCP client and MCP server are one tool call; any of them tells the error."""
    operations = rows(
        Row("fw", "run", tool("files-read_file")),
        Row("mcp-python-sdk", "MCP send tools/call read_file", {"mcp.method.name": "tools/call"},
            id=2, parent=1, kind=3),
        Row("mcp-python-sdk", "tools/call read_file",
            tool("read_file", **{"mcp.method.name": "tools/call", "error.type": "tool_error"}),
            id=3, parent=2, kind=2, service="server"),
    )  # fmt: skip
    assert total(operations, "tool_calls", "tool_errors") == (1, 1)
    assert (operations[0].status, operations[0].error_type) == (Status.ERROR, "tool_error")


def test_tools_within_tools() -> None:
    """A tool that runs another tool, or itself for another call, is two calls."""
    other = rows(Row("x", "a", tool("plan")), Row("x", "b", tool("read"), id=2, parent=1))
    again = rows(
        Row("x", "a", tool("ask", **{"gen_ai.tool.call.id": "1"})),
        Row("x", "b", tool("ask", **{"gen_ai.tool.call.id": "2"}), id=2, parent=1),
    )
    assert total(other, "tool_calls") == total(again, "tool_calls") == (2,)


def test_double_instrumented_tools_side_by_side() -> None:
    """Two scopes that saw the same tool run in two traces make one call."""
    operations = rows(
        Row("fw", "a", tool("read")), Row("other", "b", tool("read"), trace=2, start=1, end=99)
    )
    assert total(operations, "tool_calls") == (1,)


@pytest.mark.parametrize(
    ("name", "control"),
    [
        ("transfer_to_billing", True),
        ("handoff", True),
        ("handoff_to_agent", True),
        ("HandOff to billing", True),
        ("delegate_task_to_member", True),
        ("final_answer", True),
        ("finish", True),
        ("transfer_money", False),
        ("finish_order", False),
        ("search", False),
        (None, False),
    ],
)
def test_control(name: str | None, control: bool) -> None:
    """Hand-offs and final answers are not tools."""
    assert is_control(name) is control


def test_tool_names() -> None:
    """A plug-in or server may stand in front of a tool's name."""
    assert same_tool("Plugin-search_docs", "search_docs")
    assert same_tool("read_file", "read_file")
    assert not same_tool("read_file", "write_file")
    assert not same_tool(None, "read_file")


def test_names_of_agents_and_models() -> None:
    """Calls belong to the nearest agent; a model may stand on an ancestor."""
    operations = rows(
        Row("x", "root", agent("boss")),
        Row("x", "step", {"gen_ai.operation.name": "agent_step", "gen_ai.request.model": "m"},
            id=2, parent=1),
        Row("x", "call", chat(), id=3, parent=2),
    )  # fmt: skip
    assert (operations[2].agent, operations[2].model) == ("boss", "m")
    assert operations[1].kind is Kind.OTHER


def test_an_event_that_describes_a_span_adds_no_call() -> None:
    """The convention's details event repeats its span; without the span it is the call."""
    event = {
        **chat(gen_ai__response__id="r"),
        "event.name": "gen_ai.client.inference.operation.details",
    }
    described = logs("x", event, span=1)
    alone = number(read_logs(described, tenant="", received_ns=1))
    both = number(
        read_traces(traces(Row("x", "c", silent())), tenant="", received_ns=1)
        + read_logs(described, tenant="", received_ns=1)
    )
    assert total(alone, *CALLS) == total(both, *CALLS) == (1, 100, 10)


def test_an_event_below_the_tool_span_that_is_its_view() -> None:
    """Events count first there: the span above the event is a view of it, and not its wrapper."""
    span, event = (
        replace(read, dialect="gemini_cli", signal=signal)
        for read, signal in zip(
            read_traces(
                traces(Row("x", "t", tool("ls")), Row("x", "t", tool("ls"), id=2, parent=1)),
                tenant="",
                received_ns=1,
            ),
            ("span", "log"),
            strict=True,
        )
    )
    above, below = number([span, event])
    assert (below.counted, above.counted, above.why) == (True, False, "other_signal")
    assert above.same_as == below.span.span_key


@pytest.mark.parametrize("order", [1, -1])
def test_a_span_that_says_less_than_its_event_is_a_view_of_it(order: int) -> None:
    """Without what the cache and thinking took, sums and time tell it; numbers are the event's."""
    events = [
        logs("gemini-cli", {**GEMINI, "input_token_count": at, "session.id": "s"}, time_ms=ends)
        for at, ends in ((100, 100), (100, 900), (300, 950))
    ]
    attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.usage.output_tokens": 10}
    spans = traces(
        *(
            Row("gemini-cli", "llm_call",
                {**attributes, "gen_ai.usage.input_tokens": at, "gen_ai.conversation.id": "s"},
                trace=id_ + 1, id=id_, start=ends - 50, end=ends + 1)
            for id_, at, ends in ((1, 100, 900), (2, 100, 100), (3, 299, 950))
        )
    )  # fmt: skip
    read = [span for event in events for span in read_logs(event, tenant="", received_ns=1)]
    read += read_traces(spans, tenant="", received_ns=1)
    operations = number(read[::order])
    calls = {op.span.span_key: op for op in operations if op.counted}
    assert [(op.cache_read, op.reasoning, op.output_visible) for op in calls.values()] == [
        (60, 5, 10)
    ] * 3
    ends = {op.span.span_key: op.span.end_ns for op in operations}
    views = {op.span.end_ns: op.same_as for op in operations if not op.counted}
    paired = [ends.get(same or -1) for _, same in sorted(views.items())]
    assert paired == [T0 + 100 * MS, T0 + 900 * MS, None]


@pytest.mark.parametrize("order", [1, -1])
def test_a_tool_span_is_a_view_of_the_event_that_does_not_say_which_call(order: int) -> None:
    """Two runs of one tool: each with the event that ended as it did."""
    event = {"event.name": "gemini_cli.tool_call", "function_name": "run", "session.id": "s"}
    read = [
        span
        for ends in (100, 900)
        for span in read_logs(
            logs("gemini-cli", event | {"duration_ms": 50}, time_ms=ends), tenant="", received_ns=1
        )
    ]
    attributes = {"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "run",
                  "gen_ai.conversation.id": "s"}  # fmt: skip
    spans = traces(
        *(
            Row("gemini-cli", "tool_call", attributes | {"gen_ai.tool.call_id": str(id_)},
                trace=id_ + 1, id=id_, start=ends - 50, end=ends + 1)
            for id_, ends in ((1, 900), (2, 100))
        )
    )  # fmt: skip
    operations = number([*read, *read_traces(spans, tenant="", received_ns=1)][::order])
    ends = {op.span.span_key: op.span.end_ns for op in operations}
    views = {op.span.end_ns: ends.get(op.same_as or -1) for op in operations if not op.counted}
    assert views == {T0 + at * MS + MS: T0 + at * MS for at in (100, 900)}


def test_cycles_do_not_loop() -> None:
    """Spans that are each other's parents are settled all the same."""
    operations = rows(Row("x", "a", chat(), id=1, parent=2), Row("x", "b", agent(), id=2, parent=1))
    assert total(operations, "llm_calls") == (1,)


def test_bytes_are_those_of_the_texts_and_unknown_without_them() -> None:
    """The newest user message and the answer, arguments and result; of agents none."""
    said = {"gen_ai.input.messages": '[{"role": "user", "content": "héllo"}]',
            "gen_ai.output.messages": '[{"role": "assistant", "content": "yes"}]'}  # fmt: skip
    ran = {"gen_ai.tool.call.arguments": "ls -l", "gen_ai.tool.call.result": "four"}
    found = rows(
        Row("x", "invoke_agent a", agent(**said), id=1),
        Row("x", "chat", chat() | said, id=2, parent=1),
        Row("x", "execute_tool", tool("bash") | ran, id=3, parent=1),
        Row("x", "chat", chat(), id=4, parent=1),
    )
    assert [(op.input_bytes, op.output_bytes) for op in found] == [
        (None, None), (6, 3), (5, 4), (None, None),
    ]  # fmt: skip


def test_bytes_come_from_the_outermost_view_that_has_the_text() -> None:
    outer = silent(**{"gen_ai.output.messages": '[{"role": "assistant", "content": "yes"}]'})
    inner = chat() | {"gen_ai.input.messages": '[{"role": "user", "content": "hello"}]',
                      "gen_ai.output.messages": '[{"role": "assistant", "content": "YES!"}]'}  # fmt: skip
    found = rows(
        Row("x", "chat", outer, id=1, start=0, end=100),
        Row(OPENAI, "openai.chat", inner, id=2, parent=1, start=5, end=95),
    )
    assert [(op.input_bytes, op.output_bytes) for op in found if op.counted] == [(5, 3)]
