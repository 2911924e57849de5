"""Exemplars: single traces by name, behind the points of a series and the cells of a heat map.

Pyroscope's exemplar is one uploaded profile. Here it is one trace, and the id of its profile is the
trace id written as a UUID: what Grafana sends back in `profile_id_selector` needs no memory.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from whyflame.serve.pyroscope.labels import field_of
from whyflame.serve.pyroscope.ranges import MILLISECOND
from whyflame.store.spread import TraceFacts, TraceSum, facts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from whyflame.serve.pyroscope.asking import Asking

__all__ = ["INDIVIDUAL", "SPAN", "Exemplars"]

INDIVIDUAL, SPAN = 2, 3
MAX_EXEMPLARS = 10_000
_LABELS = ("service_name", "environment", "agent", "session", "root", "outcome")


class Exemplars:
    """Writes exemplars of one answer, with what tells their traces from others.

    Args:
        asking: The question. kind: `INDIVIDUAL` or `SPAN`; anything else writes none.
        group_by: Labels that the series have already. scale: Stored units in one shown.
    """

    def __init__(self, asking: Asking, kind: int, group_by: Collection[str], scale: int) -> None:
        self._asking, self._scale = asking, scale
        self._is_span = kind == SPAN
        self.are_wanted = kind in {INDIVIDUAL, SPAN}
        self._labels = [name for name in _LABELS if name not in group_by]
        self._facts: dict[int, TraceFacts] = {}

    def look_up(self, sums: Iterable[TraceSum]) -> None:
        """Read about all traces of the answer at once; of very many, about the largest."""
        if not self.are_wanted:
            return
        fields = [field_of(name) or name for name in self._labels]
        named = heapq.nlargest(MAX_EXEMPLARS, sums, key=lambda one: one.value)
        keys = [one.trace_key for one in named]
        self._facts = facts_of(self._asking.running, keys, fields)

    def write(self, point: Any, one: TraceSum | None) -> None:
        """Add the exemplar to a point or slot."""
        facts = self._facts.get(one.trace_key) if one else None
        if one is None or facts is None:
            return
        exemplar = point.exemplars.add(
            timestamp=one.last_ns // MILLISECOND,
            span_id=facts.span_id,
            value=round(one.value / self._scale) if self._scale > 1 else one.value,
            trace_id=facts.trace_id,
        )
        if not self._is_span:
            exemplar.profile_id = _uuid(facts.trace_id)
        for name, text in zip(self._labels, facts.fields, strict=True):
            if text:
                exemplar.labels.add(name=name, value=text)


def _uuid(trace_id: str) -> str:
    return "-".join(
        trace_id[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    )
