"""How a measure is spread over traces: the largest of a time step, and counts by size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyflame.store.below import among
from whyflame.store.timeline import ENDED, Labels, group_keys, label_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whyflame.fold.measures import Measure
    from whyflame.fold.where import Fragment
    from whyflame.store.running import RunningQuery
    from whyflame.store.timeline import Steps

__all__ = ["Cell", "Spread", "TraceFacts", "TraceSum", "facts_of", "largest_by_step", "spread_of"]

BUCKETS = 20


@dataclass(frozen=True, slots=True)
class TraceSum:
    """What one trace added. `last_ns` is the end of the last operation that did."""

    trace_key: int
    value: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Traces that ended in one step with about the same value.

    Attributes:
        edge_ns: Right edge of the step. bucket: Which of the `BUCKETS`, from below.
        count: How many traces. largest: The largest of them.
    """

    edge_ns: int
    bucket: int
    count: int
    largest: TraceSum


@dataclass(frozen=True, slots=True)
class Spread:
    """Cells by labels, the labels with the largest sum first.

    Attributes:
        least: Value at which the lowest bucket begins. range: How much all buckets span.
    """

    least: int
    range: int
    cells: dict[Labels, list[Cell]]


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """One trace: its id and that of its first agent span, in hex, and fields of its first operation."""

    trace_id: str
    span_id: str
    fields: Labels


def largest_by_step(
    query: RunningQuery,
    measure: Measure,
    fields: Sequence[str],
    condition: Fragment,
    steps: Steps,
) -> dict[Labels, dict[int, TraceSum]]:
    """For every point that `sum_by_step` gives, the trace that added most to it."""
    keys, params = group_keys(fields)
    names = [f"k{number}" for number in range(len(keys))]
    rows = query.rows(
        f"SELECT {_listed(names)} edge, arg_max(trace_key, (v, -trace_key)), max(v), "
        "arg_max(last, (v, -trace_key)) FROM ("
        f"SELECT {_listed(keys)} ({ENDED} - ?::BIGINT) // ?::BIGINT AS edge, trace_key, "
        f"{measure.sum_expression} AS v, max({ENDED}) AS last "
        f"FROM operations{condition.sql} GROUP BY ALL) WHERE v > 0 GROUP BY {_listed(names)} edge",
        [*params, steps.since_ns, steps.step_ns, *condition.params],
    )
    found: dict[Labels, dict[int, TraceSum]] = {}
    for labels, (number, *of_trace) in label_texts(query, fields, rows):
        points, at = found.setdefault(labels, {}), steps.start_ns + number * steps.step_ns
        points[at] = max(points.get(at, _NONE), TraceSum(*of_trace), key=lambda one: one.value)
    return found


_NONE = TraceSum(0, 0, 0)


def spread_of(
    query: RunningQuery,
    measure: Measure,
    fields: Sequence[str],
    condition: Fragment,
    steps: Steps,
) -> Spread:
    """Every trace once, in the step in which its last operation ended, by the sum over its operations.

    What ended after the last edge belongs to it: the range may end within a step.
    """
    keys, params = group_keys(fields)
    names = [f"k{number}" for number in range(len(keys))]
    last_edge = (steps.end_ns - steps.start_ns) // steps.step_ns
    rows = query.rows(
        f"WITH sums AS (SELECT {_listed(keys)} trace_key, {measure.sum_expression} AS v, "
        f"max({ENDED}) AS last FROM operations{condition.sql} GROUP BY ALL HAVING v > 0), "
        f"bounds AS (SELECT min(v) AS least, greatest(max(v) - min(v), {BUCKETS}) AS wide FROM sums) "
        f"SELECT {_listed(names)} least((last - ?::BIGINT) // ?::BIGINT, ?) AS edge, "
        f"least((v - least)::HUGEINT * {BUCKETS} // wide, {BUCKETS - 1})::INTEGER AS bucket, "
        "count(*), arg_max(trace_key, (v, -trace_key)), max(v), arg_max(last, (v, -trace_key)), "
        "sum(v), any_value(least), any_value(wide) FROM sums, bounds GROUP BY ALL",
        [*params, *condition.params, steps.since_ns, steps.step_ns, last_edge],
    )
    cells: dict[Labels, list[Cell]] = {}
    sums: dict[Labels, int] = {}
    least = wide = 0
    for labels, values in label_texts(query, fields, rows):
        number, bucket, count, trace, value, last, sum_, least, wide = values
        edge = steps.start_ns + number * steps.step_ns
        cell = Cell(edge, bucket, count, TraceSum(trace, value, last))
        cells.setdefault(labels, []).append(cell)
        sums[labels] = sums.get(labels, 0) + sum_
    ordered = sorted(cells, key=lambda labels: (-sums[labels], [text or "" for text in labels]))
    return Spread(least, wide, {labels: cells[labels] for labels in ordered})


def _listed(names: Iterable[str]) -> str:
    return "".join(f"{name}, " for name in names)


def facts_of(
    query: RunningQuery, traces: Iterable[int], fields: Sequence[str]
) -> dict[int, TraceFacts]:
    """What tells these traces from others.

    Args:
        query: To run on. traces: Their keys. fields: Names of the Contract, or promoted ones.
    """
    wanted = sorted(set(traces))
    if not wanted:
        return {}
    test = among("trace_key", wanted)
    ids = dict(query.rows(f"SELECT trace_key, lower(hex(trace_id)) FROM traces WHERE {test}"))
    spans = dict(
        query.rows(
            "SELECT trace_key, lower(hex(arg_min(span_id, (kind IS DISTINCT FROM 'agent', start_ns)))) "
            f"FROM spans WHERE {test} GROUP BY trace_key"
        )
    )
    keys, params = group_keys(fields)
    rows = query.rows(
        f"SELECT {_listed(keys)} trace_key FROM operations WHERE {test} "
        f"QUALIFY row_number() OVER (PARTITION BY trace_key ORDER BY start_ns, span_key) = 1",
        params,
    )
    return {
        key: TraceFacts(ids[key], spans.get(key, ""), labels)
        for labels, (key,) in label_texts(query, fields, rows)
    }
