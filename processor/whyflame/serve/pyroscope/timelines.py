"""SelectSeries: one measure over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyflame.fold.measures import find_measure
from whyflame.fold.projection import compile_filter
from whyflame.serve.pyroscope.asking import Asking, Wanted
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.labels import field_of
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.ranges import MILLISECOND
from whyflame.store.timeline import Steps, sum_by_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message

__all__ = ["Line", "select_series", "timelines"]

MAX_STEPS = 100_000
_NANO_PER_MICRO = 1000

Line = tuple[tuple[tuple[str, str], ...], dict[int, float]]
"""Labels, and values by time in ms."""


def select_series(asking: Asking, request: Any) -> Message:
    """Sums by step and label; averages are not offered, as in Pyroscope 2."""
    wanted = Wanted(request.profile_typeID, request.label_selector, request.start, request.end)
    if request.stack_trace_selector.call_site:
        raise ConnectError("unimplemented", "stack_trace_selector is not offered for series")
    if request.limit < 0:
        raise ConnectError("invalid_argument", f"limit is not negative: {request.limit}")
    step_ms = round(request.step * 1000) if 0 < request.step < 1 << 40 else 0
    lines = timelines(asking, wanted, step_ms, request.group_by)
    response = message_class("SelectSeriesResponse")()
    made: Any = response
    for labels, points in lines[: request.limit or None]:
        series = made.series.add()
        for name, value in labels:
            series.labels.add(name=name, value=value)
        for time_ms, sum_ in sorted(points.items()):
            series.points.add(value=sum_, timestamp=time_ms)
    return response


def timelines(
    asking: Asking, wanted: Wanted, step_ms: int, group_by: Sequence[str] = ()
) -> list[Line]:
    """Lines by the labels of `group_by`, the largest sum first.

    Raises:
        UsageError: The request is not a question.
    """
    if step_ms < 1:
        raise ConnectError("invalid_argument", "step is at least 0.001 seconds")
    projection = asking.projection(wanted)
    range_ = asking.range(wanted.start, wanted.end)
    if projection is None or range_ is None:
        return []
    if (range_.end_ms - range_.start_ms) // step_ms > MAX_STEPS:
        raise ConnectError("invalid_argument", f"more than {MAX_STEPS} steps: choose a longer step")
    labels = {name: found for name in group_by if (found := field_of(name, asking.promoted))}
    steps = Steps(range_.start_ms * MILLISECOND, range_.end_ms * MILLISECOND, step_ms * MILLISECOND)
    measure = find_measure(projection.default)
    condition = compile_filter(
        replace(projection, since_ns=steps.since_ns, until_ns=steps.until_ns)
    )
    fields = list(labels.values())
    sums = sum_by_step(asking.running, measure, fields, condition, steps)
    scale = _NANO_PER_MICRO if measure.unit == "nanousd" else 1
    ordered = sorted(
        sums.items(), key=lambda item: (-sum(item[1].values()), [text or "" for text in item[0]])
    )
    return [
        (
            tuple((name, text) for name, text in sorted(zip(labels, values, strict=True)) if text),
            {at // MILLISECOND: value / scale for at, value in points.items()},
        )
        for values, points in ordered
    ]
