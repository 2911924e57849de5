"""Which lane an operation is in."""

from __future__ import annotations

from tests.unit.settle.builders import Trace, settle_made, span_id


def lane(name: str) -> str:
    return span_id(name).hex()


def test_nested_wrappers_of_one_agent_stay_in_the_main_lane() -> None:
    """Chains, workflows and steps around one agent open no lane."""
    trace = Trace()
    trace.add("agent:root", 0, 100, agent="coder")
    trace.add("agent:flow", 1, 99, "root", agent="coder")
    trace.add("agent:step", 2, 50, "flow")
    trace.add("llm:a", 3, 20, "step")
    trace.add("tool:t", 21, 49, "step")
    trace.add("agent:step2", 51, 98, "flow")
    trace.add("llm:b", 52, 90, "step2")
    made = settle_made(trace)
    assert {operation.lane for operation in made.values()} == {"main"}
    assert {operation.agent for operation in made.values()} == {"coder"}
    assert [made[name].step for name in ("a", "t", "b")] == [0, 0, 1]


def test_an_agent_below_a_tool_opens_a_lane_named_after_its_span() -> None:
    """The tool itself stays with the caller; what it runs is a lane below its step."""
    trace = Trace()
    trace.add("agent:root", 0, 100, agent="boss")
    trace.add("llm:a", 1, 10, "root")
    trace.add("tool:ask", 11, 60, "root", tool="ask_researcher")
    trace.add("agent:sub", 12, 59, "ask", agent="researcher")
    trace.add("llm:b", 13, 30, "sub")
    trace.add("tool:search", 31, 40, "sub")
    trace.add("llm:c", 41, 58, "sub")
    trace.add("llm:d", 61, 90, "root")
    made = settle_made(trace)
    assert made["ask"].lane == "main"
    for name in ("sub", "b", "search", "c"):
        assert (made[name].lane, made[name].lane_parent) == (lane("sub"), "main")
        assert made[name].lane_parent_step == 0
        assert made[name].agent == "researcher"
    assert [made[name].step for name in ("a", "ask", "b", "search", "c", "d")] == [0, 0, 0, 0, 1, 1]


def test_a_tool_with_model_calls_and_no_agent_span_is_a_lane() -> None:
    """Coding CLIs show a sub-agent as calls below the tool's execution."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("llm:a", 1, 10, "root")
    trace.add("tool:task", 11, 60, "root")
    trace.add("wrap:exec", 12, 59, "task")
    trace.add("llm:b", 13, 30, "exec")
    trace.add("tool:read", 31, 40, "exec")
    made = settle_made(trace)
    assert made["task"].lane == "main"
    assert made["b"].lane == made["read"].lane == lane("task")
    assert made["read"].step == 0


def test_parallel_subagents_get_lanes_of_their_own() -> None:
    """Two agents of parallel tool calls do not share a lane, and both hang at the asking step."""
    trace = Trace()
    trace.add("agent:root", 0, 100, agent="boss")
    trace.add("llm:a", 1, 10, "root")
    for name, agent in (("x", "left"), ("y", "right")):
        trace.add(f"tool:{name}", 11, 60, "root")
        trace.add(f"agent:{name}a", 12, 59, name, agent=agent)
        trace.add(f"llm:{name}l", 13, 58, f"{name}a")
    made = settle_made(trace)
    assert made["xl"].lane == lane("xa")
    assert made["yl"].lane == lane("ya")
    assert made["xl"].lane_parent_step == made["yl"].lane_parent_step == 0


def test_agents_side_by_side_in_time_order_share_the_main_lane() -> None:
    """A hand-off continues the conversation: only the agent changes."""
    trace = Trace()
    trace.add("agent:flow", 0, 100)
    trace.add("agent:triage", 1, 40, "flow", agent="triage")
    trace.add("llm:a", 2, 20, "triage")
    trace.add("control:h", 21, 22, "triage", name="handoff to billing")
    trace.add("agent:billing", 41, 99, "flow", agent="billing")
    trace.add("llm:b", 42, 90, "billing")
    made = settle_made(trace)
    assert made["a"].lane == made["b"].lane == "main"
    assert (made["a"].agent, made["b"].agent) == ("triage", "billing")
    assert made["b"].step == 1
    assert made["h"].step == 0
    assert made["b"].turn == 0


def test_agents_side_by_side_at_the_same_time_are_lanes() -> None:
    """A fan-out below a workflow: each branch is a sequence of its own."""
    trace = Trace()
    trace.add("agent:fan", 0, 100)
    trace.add("agent:left", 1, 90, "fan", agent="left")
    trace.add("llm:a", 2, 80, "left")
    trace.add("agent:right", 2, 95, "fan", agent="right")
    trace.add("llm:b", 3, 85, "right")
    trace.add("agent:merge", 96, 99, "fan", agent="merge")
    trace.add("llm:c", 97, 98, "merge")
    made = settle_made(trace)
    assert made["a"].lane == lane("left")
    assert made["b"].lane == lane("right")
    assert made["c"].lane == "main"
    assert made["a"].lane_parent == "main"


def test_an_agent_inside_another_agents_work_is_a_lane_without_any_tool_span() -> None:
    """A managed agent is an agent span below the step of its manager."""
    trace = Trace()
    trace.add("agent:manager", 0, 100, agent="manager")
    trace.add("agent:step1", 1, 60, "manager")
    trace.add("llm:a", 2, 10, "step1")
    trace.add("agent:browser", 11, 59, "step1", agent="browser")
    trace.add("agent:bstep", 12, 58, "browser")
    trace.add("llm:b", 13, 57, "bstep")
    trace.add("agent:step2", 61, 99, "manager")
    trace.add("llm:c", 62, 98, "step2")
    made = settle_made(trace)
    assert made["b"].lane == lane("browser")
    assert made["b"].lane_parent_step == 0
    assert made["c"].lane == "main"


def test_a_nested_hand_off_continues_the_lane() -> None:
    """The first agent hands over and calls no model again: the next one takes its place."""
    trace = Trace()
    trace.add("agent:first", 0, 100, agent="first")
    trace.add("llm:a", 1, 10, "first")
    trace.add("control:h", 11, 12, "first", tool="transfer_to_agent")
    trace.add("agent:second", 13, 99, "first", agent="second")
    trace.add("llm:b", 14, 98, "second")
    made = settle_made(trace)
    assert made["b"].lane == "main"
    assert made["b"].step == 1


def test_an_agent_shown_beside_its_tool_hangs_at_the_tool() -> None:
    """Some instrumentations put the agent that a tool runs under the workflow's root."""
    trace = Trace()
    trace.add("agent:flow", 0, 100)
    trace.add("agent:billing", 1, 90, "flow", agent="billing")
    trace.add("llm:a", 2, 10, "billing")
    trace.add("llm:a2", 12, 18, "billing")
    trace.add("tool:audit", 20, 60, "billing", tool="audit")
    trace.add("agent:auditor", 21, 59, "flow", agent="auditor")
    trace.add("llm:b", 22, 58, "auditor")
    trace.add("llm:c", 61, 80, "billing")
    made = settle_made(trace)
    assert made["a"].lane == made["c"].lane == "main"
    assert made["b"].lane == lane("auditor")
    assert made["b"].lane_parent_step == made["audit"].step == 1


def test_traces_at_the_same_time_get_main_lanes_of_their_own() -> None:
    """Independent roots of one session that overlap are `main`, `main:1`; later ones reuse them."""
    first, second, third = Trace("1"), Trace("2"), Trace("3")
    first.add("agent:r1", 0, 100)
    first.add("llm:l1", 1, 99, "r1")
    second.add("agent:r2", 10, 90)
    second.add("llm:l2", 11, 89, "r2")
    third.add("agent:r3", 110, 190)
    third.add("llm:l3", 111, 189, "r3")
    made = settle_made(first, second, third)
    assert [made[name].lane for name in ("l1", "l2", "l3")] == ["main", "main:1", "main"]
    assert made["l2"].lane_parent is None


def test_span_ids_that_repeat_in_a_run_name_two_lanes() -> None:
    """Hand-written telemetry counts its ids from one in every trace."""
    traces = []
    for number in range(2):
        trace = Trace(str(number))
        start = number * 100
        trace.add("agent:root", start, start + 90)
        trace.add("llm:a", start + 1, start + 10, "root")
        trace.add("tool:t", start + 11, start + 60, "root")
        trace.add("llm:b", start + 12, start + 50, "t")
        traces.append(trace)
    settle_made(*traces)
    lanes = [trace.made["b"].lane for trace in traces]
    assert lanes == [lane("t"), lane("t") + ":1"]


def test_further_views_stand_where_the_counted_view_stands() -> None:
    """A provider SDK's own trace has no place of its own in the session."""
    trace, mirror = Trace("a"), Trace("b", session="trace:b")
    trace.add("agent:root", 0, 100)
    trace.add("llm:first", 1, 10, "root")
    trace.add("llm:call", 20, 60, "root", span_key=7)
    mirror.add("llm:sdk", 21, 59, counted=False, same_as=7, span_key=8)
    made = settle_made(trace, mirror)
    assert made["sdk"].session == "s"
    assert made["sdk"].step == made["call"].step == 1


def test_lanes_of_one_tool_that_runs_two_agents_at_once_hang_at_the_tools_step() -> None:
    """The tool does nothing but run them, so no empty lane stands between."""
    trace = Trace()
    trace.add("agent:root", 0, 100, agent="boss")
    trace.add("llm:a", 1, 10, "root")
    trace.add("tool:both", 11, 60, "root")
    for name in ("x", "y"):
        trace.add(f"agent:{name}", 12, 59, "both", agent=name)
        trace.add(f"llm:{name}l", 13, 58, name)
    made = settle_made(trace)
    for name in ("xl", "yl"):
        assert (made[name].lane_parent, made[name].lane_parent_step) == ("main", 0)
    assert made["xl"].lane != made["yl"].lane


def test_very_many_traces_at_once_share_a_bounded_number_of_lanes() -> None:
    """A process that reuses one session id for everything costs no quadratic work."""
    traces = []
    for number in range(70):
        trace = Trace(str(number))
        trace.add(f"llm:{number}", number, 1000 + number)
        traces.append(trace)
    made = settle_made(*traces)
    assert len({operation.lane for operation in made.values()}) == 64


def test_traces_without_model_calls_stand_beside_the_newest_sequence() -> None:
    """A batch of tools in a trace of its own belongs to the conversation that ran last."""
    first, second, tools = Trace("1"), Trace("2"), Trace("3")
    first.add("llm:a", 0, 100)
    second.add("llm:b", 10, 90)
    tools.add("tool:t", 95, 99)
    made = settle_made(first, second, tools)
    assert made["b"].lane == made["t"].lane == "main:1"
