"""SelectSeries: one measure over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.serve.pyroscope.asking import Asking, Wanted
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.exemplars import Exemplars
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.ranges import MILLISECOND
from whyflame.serve.pyroscope.stepping import (
    LabelPairs,
    Stepping,
    add_labels,
    check_limit,
    step_ms_of,
    stepping,
)
from whyflame.store.spread import TraceSum, largest_by_step
from whyflame.store.timeline import sum_by_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message

__all__ = ["Line", "select_series", "timelines"]

Line = tuple[LabelPairs, dict[int, float]]
"""Labels, and values by time in ms."""


def select_series(asking: Asking, request: Any) -> Message:
    """Sums by step and label; averages are not offered, as in Pyroscope 2."""
    wanted = Wanted(request.profile_typeID, request.label_selector, request.start, request.end)
    if request.stack_trace_selector.call_site:
        raise ConnectError("unimplemented", "stack_trace_selector is not offered for series")
    check_limit(request.limit)
    response = message_class("SelectSeriesResponse")()
    asked = stepping(asking, wanted, step_ms_of(request.step), request.group_by)
    if asked is None:
        return response
    lines = _lines(asking, asked)[: request.limit or None]
    exemplars = Exemplars(asking, request.exemplar_type, request.group_by, asked.scale)
    largest = _largest(asking, asked) if exemplars.are_wanted else {}
    exemplars.look_up(one for labels, _ in lines for one in largest.get(labels, {}).values())
    for labels, points in lines:
        _write(response, labels, points, largest.get(labels, {}), exemplars)
    return response


def _write(
    response: Any,
    labels: LabelPairs,
    points: dict[int, float],
    largest: dict[int, TraceSum],
    exemplars: Exemplars,
) -> None:
    series = response.series.add()
    add_labels(series, labels)
    for time_ms, sum_ in sorted(points.items()):
        exemplars.write(series.points.add(value=sum_, timestamp=time_ms), largest.get(time_ms))


def timelines(
    asking: Asking, wanted: Wanted, step_ms: int, group_by: Sequence[str] = ()
) -> list[Line]:
    """Lines by the labels of `group_by`, the largest sum first.

    Raises:
        UsageError: The request is not a question.
    """
    asked = stepping(asking, wanted, step_ms, group_by)
    return [] if asked is None else _lines(asking, asked)


def _lines(asking: Asking, asked: Stepping) -> list[Line]:
    sums = sum_by_step(asking.running, asked.measure, asked.fields, asked.in_steps, asked.steps)
    ordered = sorted(
        sums.items(), key=lambda item: (-sum(item[1].values()), [text or "" for text in item[0]])
    )
    return [
        (
            asked.labelled(texts),
            {at // MILLISECOND: value / asked.scale for at, value in points.items()},
        )
        for texts, points in ordered
    ]


def _largest(asking: Asking, asked: Stepping) -> dict[LabelPairs, dict[int, TraceSum]]:
    found = largest_by_step(
        asking.running, asked.measure, asked.fields, asked.in_steps, asked.steps
    )
    return {
        asked.labelled(texts): {at // MILLISECOND: one for at, one in points.items()}
        for texts, points in found.items()
    }
