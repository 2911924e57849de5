"""Where a user request begins."""

from __future__ import annotations

from tests.unit.settle.builders import ERROR, Trace, settle_made

from whyflame.model import Content


def test_each_trace_of_a_session_is_a_turn() -> None:
    """One trace per request is the rule of agent frameworks."""
    traces = []
    for number in range(3):
        trace = Trace(str(number))
        trace.add(f"agent:r{number}", number * 100, number * 100 + 90, agent="coder")
        trace.add(f"llm:l{number}", number * 100 + 1, number * 100 + 80, f"r{number}")
        traces.append(trace)
    made = settle_made(*traces)
    assert [made[f"l{number}"].turn for number in range(3)] == [0, 1, 2]
    assert [made[f"l{number}"].step for number in range(3)] == [0, 1, 2]


def test_calls_and_tool_batches_in_traces_of_their_own_are_one_turn() -> None:
    """A call that takes tool results back continues; one after an answer begins."""
    names = ["llm:a", "tool:t", "llm:b", "llm:c", "tool:u", "llm:d"]
    traces = []
    for number, name in enumerate(names):
        trace = Trace(str(number))
        trace.add(name, number * 10, number * 10 + 5)
        traces.append(trace)
    made = settle_made(*traces)
    assert [made[name[-1]].turn for name in names] == [0, 0, 0, 1, 1, 1]


def test_a_repeated_failed_call_is_no_new_turn() -> None:
    """Retries by the user's code are the same request."""
    first, second = Trace("1"), Trace("2")
    first.add("llm:a", 0, 5, status=ERROR)
    second.add("llm:b", 10, 15)
    made = settle_made(first, second)
    assert made["b"].turn == 0


def test_parallel_bare_calls_are_one_turn() -> None:
    """Calls gathered at once serve one request."""
    first, second = Trace("1"), Trace("2")
    first.add("llm:a", 0, 50)
    second.add("llm:b", 1, 55)
    made = settle_made(first, second)
    assert made["a"].turn == made["b"].turn == 0


def test_a_prompt_event_begins_a_turn_and_its_agent_joins_it() -> None:
    """Log-only producers tell each prompt; the trace that follows is the same turn."""
    trace = Trace("log")
    trace.add("prompt:p0", 0, 0)
    trace.add("llm:a", 1, 5)
    trace.add("llm:b", 6, 9)
    trace.add("prompt:p1", 20, 20)
    other = Trace("span")
    other.add("agent:r", 21, 40)
    other.add("llm:c", 22, 39, "r")
    made = settle_made(trace, other)
    assert [made[name].turn for name in ("p0", "a", "b", "p1", "r", "c")] == [0, 0, 0, 1, 1, 1]


def test_requests_sharing_a_trace_are_told_apart_by_their_messages() -> None:
    """Without an agent span only another user message shows a new request."""
    trace = Trace()
    trace.add("wrap:loop", 0, 100)
    trace.add("llm:a", 1, 10, "loop", content=Content(prompt_sha256="1", user_messages=1))
    trace.add("llm:b", 11, 20, "loop", content=Content(prompt_sha256="2", user_messages=2))
    trace.add("llm:c", 21, 30, "loop", content=Content(prompt_sha256="2", user_messages=2))
    trace.add("llm:d", 31, 40, "loop")
    made = settle_made(trace)
    assert [made[name].turn for name in "abcd"] == [0, 1, 1, 1]


def test_one_agent_run_twice_in_a_trace_is_two_turns_and_a_pipeline_is_one() -> None:
    """The same root agent again answers another request; another agent is the next stage."""
    trace = Trace()
    trace.add("wrap:app", 0, 100)
    for number, agent in enumerate(["plan", "write", "plan"]):
        trace.add(f"agent:r{number}", number * 10 + 1, number * 10 + 9, "app", agent=agent)
        trace.add(f"llm:l{number}", number * 10 + 2, number * 10 + 8, f"r{number}")
    again = Trace("2", session="other")
    for number in range(2):
        again.add(f"agent:q{number}", number * 10 + 1, number * 10 + 9, "gone", agent="plan")
        again.add(f"llm:m{number}", number * 10 + 2, number * 10 + 8, f"q{number}")
    repeat = Trace("3", session="third")
    repeat.add("wrap:app3", 0, 100)
    for number in range(2):
        repeat.add(f"agent:w{number}", number * 10 + 1, number * 10 + 9, "app3", agent="plan")
        repeat.add(f"llm:n{number}", number * 10 + 2, number * 10 + 8, f"w{number}")
    made = settle_made(trace, again, repeat)
    assert [made[f"l{number}"].turn for number in range(3)] == [0, 0, 0]
    # The missing parent may still come and frame both.
    assert [made[f"m{number}"].turn for number in range(2)] == [0, 0]
    assert [made[f"n{number}"].turn for number in range(2)] == [0, 1]


def test_the_next_agent_after_a_hand_off_works_on_the_same_request() -> None:
    """Even when the framework starts a new trace for it."""
    first, second = Trace("1"), Trace("2")
    first.add("agent:r1", 0, 50, agent="planner")
    first.add("llm:a", 1, 10, "r1")
    first.add("control:h", 11, 12, "r1", tool="transfer_to_fixer")
    second.add("agent:r2", 60, 90, agent="fixer")
    second.add("llm:b", 61, 80, "r2")
    made = settle_made(first, second)
    assert made["b"].turn == 0


def test_interleaved_traces_keep_their_turns() -> None:
    """A call of an earlier trace does not fall into the turn of a later one."""
    first, second = Trace("1"), Trace("2")
    first.add("wrap:x", 0, 100)
    first.add("llm:a", 1, 10, "x")
    second.add("llm:b", 20, 30)
    first.add("tool:t", 31, 40, "x")
    first.add("llm:c", 41, 50, "x")
    made = settle_made(first, second)
    assert [made[name].turn for name in "abtc"] == [0, 1, 0, 0]


def test_operations_above_the_first_entry_are_in_its_turn() -> None:
    """Wrappers around an agent belong to the request they wrap."""
    first, second = Trace("1"), Trace("2")
    first.add("agent:r1", 0, 9, agent="a")
    second.add("wrap:http", 20, 50)
    second.add("agent:r2", 21, 49, "http", agent="a")
    made = settle_made(first, second)
    assert made["http"].turn == made["r2"].turn == 1


def test_calls_torn_from_their_agent_are_its_turn() -> None:
    """Lost context makes each step a root: while the agent runs, the calls are its own."""
    agent, first, second, later = Trace("0"), Trace("1"), Trace("2"), Trace("3")
    agent.add("agent:r", 0, 100)
    first.add("llm:a", 1, 30)
    second.add("llm:b", 40, 90)
    later.add("llm:c", 120, 140)
    made = settle_made(agent, first, second, later)
    assert [made[name].turn for name in "rabc"] == [0, 0, 0, 1]


def test_embeddings_and_tools_alone_belong_to_the_turn_before() -> None:
    """No user message and no root agent: nothing says that a request came."""
    traces = [Trace("t1"), Trace("t2"), Trace("t3"), Trace("t4")]
    for at, (trace, what) in enumerate(
        zip(traces, ("agent:a", "embed:e", "tool:t", "agent:b"), strict=True)
    ):
        trace.add(what, at * 100, at * 100 + 50)
        if what[0] == "a":
            trace.add(f"llm:{what[-1]}2", at * 100 + 10, at * 100 + 40, what[-1])
    found = settle_made(*traces)
    assert [found[name].turn for name in ("a", "e", "t", "b")] == [0, 0, 0, 1]
