"""Ids and times of a span, believed only when they are possible."""

from __future__ import annotations

import hashlib
from typing import Any

__all__ = ["read_identity", "read_times", "stable_id"]

TRACE_BYTES, SPAN_BYTES = 16, 8
_NO_TRACE, _NO_SPAN = bytes(TRACE_BYTES), bytes(SPAN_BYTES)
_EARLIEST_NS = 946_684_800 * 10**9  # 2000-01-01
_LATEST_NS = 4_102_444_800 * 10**9  # 2100-01-01
_LONGEST_NS = 30 * 86_400 * 10**9


def stable_id(size: int, *parts: bytes) -> bytes:
    """An id that depends on the parts alone, so that repeats collapse."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        digest.update(len(part).to_bytes(4, "little"))
        digest.update(part)
    return digest.digest()


def read_identity(message: Any) -> tuple[bytes, bytes, bytes | None, tuple[str, ...]]:
    """(trace id, span id, parent id, reasons); a missing id is made from the span's content."""
    trace_id, span_id, parent_id = message.trace_id, message.span_id, message.parent_id
    if (
        len(trace_id) == TRACE_BYTES
        and len(span_id) == SPAN_BYTES
        and span_id != _NO_SPAN
        and trace_id != _NO_TRACE
    ):
        if len(parent_id) != SPAN_BYTES or parent_id in (_NO_SPAN, span_id):
            parent_id = None
        return trace_id, span_id, parent_id, ()
    dubious: tuple[str, ...] = ()
    if len(trace_id) != TRACE_BYTES or trace_id == _NO_TRACE:
        dubious = ("id_missing",)
        trace_id = stable_id(TRACE_BYTES, trace_id, message.SerializeToString(deterministic=True))
    if len(span_id) != SPAN_BYTES or span_id == _NO_SPAN:
        dubious = ("id_missing",)
        span_id = stable_id(SPAN_BYTES, trace_id, message.SerializeToString(deterministic=True))
    if len(parent_id) != SPAN_BYTES or parent_id in (_NO_SPAN, span_id):
        parent_id = None
    return trace_id, span_id, parent_id, dubious


def read_times(start: int, end: int) -> tuple[int | None, int | None, tuple[str, ...]]:
    """(start, end, reasons): impossible ones are None."""
    if _EARLIEST_NS <= start <= end <= _LATEST_NS and end - start <= _LONGEST_NS:
        return start, end, ()
    if not start or not end:
        first = start if _EARLIEST_NS <= start <= _LATEST_NS else None
        last = end if _EARLIEST_NS <= end <= _LATEST_NS else None
        return first, last, ("time_missing",)
    outside = [not _EARLIEST_NS <= time <= _LATEST_NS for time in (start, end)]
    if any(outside):
        return None if outside[0] else start, None if outside[1] else end, ("time_absurd",)
    if start > end:
        return start, None, ("time_reversed",)
    return start, None, ("time_absurd",)
