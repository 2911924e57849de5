"""SelectHeatmap: how many traces ended in each step, by how much each added to a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.serve.pyroscope.asking import Asking, Wanted
from whyflame.serve.pyroscope.connect import ConnectError
from whyflame.serve.pyroscope.exemplars import INDIVIDUAL, SPAN, Exemplars
from whyflame.serve.pyroscope.messages import message_class
from whyflame.serve.pyroscope.ranges import MILLISECOND
from whyflame.serve.pyroscope.stepping import (
    LabelPairs,
    add_labels,
    check_limit,
    step_ms_of,
    stepping,
)
from whyflame.store.spread import BUCKETS, spread_of

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from whyflame.store.spread import Cell

__all__ = ["select_heatmap"]

_EXEMPLARS = {1: INDIVIDUAL, 2: SPAN}
"""By type of query: profiles or spans. Either is a trace here, and only its id differs."""


def select_heatmap(asking: Asking, request: Any) -> Message:
    """Traces counted by time and value; every series has the same bounds of values."""
    wanted = Wanted(request.profile_typeID, request.label_selector, request.start, request.end)
    _check(request)
    response = message_class("SelectHeatmapResponse")()
    asked = stepping(asking, wanted, step_ms_of(request.step), request.group_by)
    if asked is None:
        return response
    spread = spread_of(asking.running, asked.measure, asked.fields, asked.in_range, asked.steps)
    exemplars = Exemplars(asking, request.exemplar_type, request.group_by, asked.scale)
    series = list(spread.cells.items())[: request.limit or None]
    exemplars.look_up(cell.largest for _, cells in series for cell in cells)
    bounds = [(spread.least + n * spread.range / BUCKETS) / asked.scale for n in range(BUCKETS)]
    for texts, cells in series:
        _write(response, asked.labelled(texts), cells, bounds, exemplars)
    return response


def _check(request: Any) -> None:
    check_limit(request.limit)
    if request.query_type not in _EXEMPLARS:
        raise ConnectError("invalid_argument", "query_type is INDIVIDUAL or SPAN")
    if request.exemplar_type not in {0, 1, _EXEMPLARS[request.query_type]}:
        raise ConnectError("invalid_argument", "exemplar_type is that of query_type, or NONE")


def _write(
    response: Any, labels: LabelPairs, cells: list[Cell], bounds: list[float], exemplars: Exemplars
) -> None:
    series = response.series.add()
    add_labels(series, labels)
    slots: dict[int, Any] = {}
    for cell in sorted(cells, key=lambda cell: (cell.edge_ns, cell.bucket)):
        slot = slots.get(cell.edge_ns)
        if slot is None:
            slot = slots[cell.edge_ns] = series.slots.add(
                timestamp=cell.edge_ns // MILLISECOND, y_min=bounds, counts=[0] * BUCKETS
            )
        slot.counts[cell.bucket] += cell.count
        exemplars.write(slot, cell.largest)
