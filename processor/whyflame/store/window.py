"""Which spans of recent traces are known, and which traces the store may hold at all."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["OpenTrace", "SeenTraces", "Window", "pack", "unpack"]

_WEIGHT_BITS = 22
_WEIGHT = (1 << _WEIGHT_BITS) - 1
_PROBES = 4
_BITS_A_TRACE = 16
_SMALLEST_BITS = 1 << 20

TraceName = tuple[str, bytes]
"""(tenant, trace id)."""


def pack(span_key: int, weight: int) -> int:
    """Span key and how much the span says, as one number: a window holds many."""
    return span_key << _WEIGHT_BITS | min(weight, _WEIGHT)


def unpack(packed: int) -> tuple[int, int]:
    """(span key, weight)."""
    return packed >> _WEIGHT_BITS, packed & _WEIGHT


@dataclass(slots=True)
class OpenTrace:
    """A trace in the window.

    Attributes:
        key: Of the trace. spans: Span id -> `pack`ed key and weight; the richer arrival stays.
    """

    key: int
    spans: dict[bytes, int] = field(default_factory=dict)


class Window:
    """Traces that recently had spans, oldest leave first.

    Args:
        max_traces: Traces kept. max_spans: Spans kept in all of them, about.
    """

    def __init__(self, max_traces: int, max_spans: int) -> None:
        self._traces: OrderedDict[TraceName, OpenTrace] = OrderedDict()
        self._max_traces = max_traces
        self._max_spans = max_spans
        self._spans = 0

    def get(self, name: TraceName) -> OpenTrace | None:
        """The trace if it is here; it becomes the youngest."""
        trace = self._traces.get(name)
        if trace is not None:
            self._traces.move_to_end(name)
        return trace

    def add(self, name: TraceName, trace: OpenTrace) -> None:
        """Take in a trace that was not here."""
        self._traces[name] = trace
        self._spans += len(trace.spans)

    def count(self, fresh_spans: int) -> None:
        """Spans were added to traces of the window; make room for them."""
        self._spans += fresh_spans
        while len(self._traces) > 1 and (
            len(self._traces) > self._max_traces or self._spans > self._max_spans
        ):
            _, trace = self._traces.popitem(last=False)
            self._spans -= len(trace.spans)

    def drop(self, names: Iterable[TraceName]) -> None:
        """Forget traces whose batch was not stored."""
        for name in names:
            self._traces.pop(name, None)
        self._spans = sum(len(trace.spans) for trace in self._traces.values())


class SeenTraces:
    """Tells surely when a trace is new: no look-up in a store of ten million for it.

    A Bloom filter over trace ids: "may be stored" is wrong for one new trace in four hundred.

    Args:
        trace_ids: All stored ones. expected: How many they are.
    """

    def __init__(self, trace_ids: Iterator[bytes], expected: int) -> None:
        bits = _SMALLEST_BITS
        while bits < 2 * expected * _BITS_A_TRACE:
            bits *= 2
        self._mask = bits - 1
        self._table = bytearray(bits // 8)
        self._count = 0
        for trace_id in trace_ids:
            self.add(trace_id)

    @property
    def is_full(self) -> bool:
        """More traces than it was made for: make a new one."""
        return self._count * _BITS_A_TRACE > self._mask

    def add(self, trace_id: bytes) -> None:
        """Remember a trace."""
        self._count += 1
        for bit in self._bits(trace_id):
            self._table[bit >> 3] |= 1 << (bit & 7)

    def may_hold(self, trace_id: bytes) -> bool:
        """False only when the trace was never added."""
        return all(self._table[bit >> 3] >> (bit & 7) & 1 for bit in self._bits(trace_id))

    def _bits(self, trace_id: bytes) -> list[int]:
        # Ids of some producers hold a time or zeros: the hash spreads them.
        digest = hash(trace_id)
        step = digest >> 32 | 1
        return [(digest + number * step) & self._mask for number in range(_PROBES)]
