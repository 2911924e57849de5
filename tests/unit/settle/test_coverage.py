"""The coverage counts."""

from __future__ import annotations

from tests.unit.settle.builders import Trace

from whyflame.settle.coverage import add_coverage, coverage


def test_each_gap_is_counted_once() -> None:
    """What was not reported, merged, claimed or doubtful."""
    trace = Trace()
    trace.add("agent:root", 0, 100, claimed_input=10, claimed_output=5)
    trace.add("llm:a", 1, 10, "root")
    trace.add("llm:b", 11, 20, "gone", input_uncached=1, output_visible=1)
    trace.add("llm:c", 12, 19, "b", counted=False, why="same_call", same_as=1)
    trace.add("wrap:d", 21, 22, "root", why="wrapper", dubious=("number_negative",))
    found = coverage(list(trace.made.values()))
    assert found["gaps"] == {
        "calls_without_usage": 1,
        "clock_corrections": 0,
        "orphan_spans": 1,
        "sessions_without_id": 0,
        "unpriced_calls": 1,
    }
    assert found["merged_views"] == {"same_call": 1}
    assert found["not_counted"] == {"wrapper": 1}
    assert found["claimed_by_agents"] == {"input_tokens": 10, "output_tokens": 5, "spans": 1}
    assert found["dubious_values"] == {"number_negative": 1}


def test_groups_add_up() -> None:
    """Coverage of two groups is the sum of both."""
    first, second = Trace("1"), Trace("2")
    first.add("llm:a", 0, 1)
    second.add("llm:b", 0, 1)
    parts = [coverage(list(trace.made.values())) for trace in (first, second)]
    both = coverage([*first.made.values(), *second.made.values()])
    assert add_coverage(parts) == both
