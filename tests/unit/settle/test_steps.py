"""Which model call a tool call belongs to."""

from __future__ import annotations

from tests.unit.settle.builders import Trace, settle_made

MS = 1_000_000


def test_a_tool_belongs_to_the_call_that_asked_for_it() -> None:
    """The call id wins over time."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("llm:a", 1, 10, "root", asked=("c1", "c2"))
    trace.add("llm:b", 12, 20, "root", asked=("c3",))
    trace.add("tool:t1", 21, 30, "root", call_id="c1")
    trace.add("tool:t3", 31, 40, "root", call_id="c3")
    made = settle_made(trace)
    assert (made["t1"].step, made["t3"].step) == (0, 1)


def test_an_id_used_again_means_the_newest_call() -> None:
    """Local servers number their tool calls from zero in every answer."""
    trace = Trace()
    for number in range(2):
        base = number * 20
        trace.add(f"llm:l{number}", base, base + 5, asked=("call_0",))
        trace.add(f"tool:t{number}", base + 6, base + 9, call_id="call_0")
    made = settle_made(trace)
    assert (made["t0"].step, made["t1"].step) == (0, 1)


def test_a_tool_below_a_model_call_is_in_its_step() -> None:
    """Some instrumentations hang the tool inside the call."""
    trace = Trace()
    trace.add("llm:a", 0, 50)
    trace.add("llm:b", 5, 60)
    trace.add("tool:t", 55, 58, "a")
    made = settle_made(trace)
    assert made["t"].step == 0


def test_tools_before_the_first_call_are_in_step_zero() -> None:
    """A retrieval before the first call is part of the first step."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("embed:e", 1, 2, "root")
    trace.add("tool:t", 3, 4, "root")
    trace.add("llm:a", 10, 20, "root")
    made = settle_made(trace)
    assert (made["e"].step, made["t"].step, made["a"].step) == (0, 0, 0)
    assert made["root"].step is None


def test_of_parallel_calls_the_one_that_just_ended_asked() -> None:
    """A tool cannot belong to a call that is still running beside a finished one."""
    trace = Trace()
    trace.add("llm:a", 0, 10)
    trace.add("llm:b", 1, 40)
    trace.add("tool:t", 11, 20)
    trace.add("tool:u", 41, 50)
    made = settle_made(trace)
    assert (made["t"].step, made["u"].step) == (0, 1)


def test_a_tool_started_while_the_answer_streams_is_in_that_step() -> None:
    """The call before it has long ended; the running one asked."""
    trace = Trace()
    trace.add("llm:a", 0, 10 * MS)
    trace.add("llm:b", 20 * MS, 40 * MS)
    trace.add("tool:t", 30 * MS, 35 * MS)
    made = settle_made(trace)
    assert made["t"].step == 1


def test_a_call_of_the_same_millisecond_has_asked_for_nothing_yet() -> None:
    """Starts in whole milliseconds put the next call beside the tool that it waits for."""
    trace = Trace()
    trace.add("llm:a", 1 * MS, 4 * MS + 100)
    trace.add("llm:b", 4 * MS, 40 * MS)
    trace.add("tool:t", 4 * MS, 4 * MS + 200)
    made = settle_made(trace)
    assert made["t"].step == 0


def test_a_call_span_that_begins_late_still_owns_its_tools() -> None:
    """Some producers open the span of a call at its last bytes, when its tools already run."""
    trace = Trace()
    trace.add("llm:a", 95 * MS, 99 * MS)
    trace.add("tool:t", 200 * MS, 240 * MS)
    trace.add("llm:b", 201 * MS, 205 * MS)
    trace.add("tool:u", 206 * MS, 230 * MS)
    made = settle_made(trace)
    assert (made["t"].step, made["u"].step) == (1, 1)


def test_a_lane_without_visible_calls_has_a_step_for_each_tool() -> None:
    """Hidden model calls must not make the whole run one step."""
    trace = Trace()
    trace.add("agent:root", 0, 100)
    trace.add("tool:t", 1, 9, "root")
    trace.add("tool:inner", 2, 8, "t")
    trace.add("tool:u", 11, 19, "root")
    made = settle_made(trace)
    assert (made["t"].step, made["inner"].step, made["u"].step) == (0, 0, 1)


def test_seq_numbers_a_lane_in_time_order() -> None:
    """Parents stand before what they contain."""
    trace = Trace()
    trace.add("llm:b", 10, 20, "root")
    trace.add("llm:a", 0, 9, "root")
    trace.add("agent:root", 0, 100)
    made = settle_made(trace)
    assert [made[name].seq for name in ("root", "a", "b")] == [0, 1, 2]
