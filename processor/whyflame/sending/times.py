"""Moves every time of OTLP requests by one common amount, so that old captures look recent."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from whyflame.journal import Signal
from whyflame.journal.otlp_json import request_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.descriptor import Descriptor

__all__ = ["newest_time", "shift_times"]

_YEAR_NS = 365 * 86_400 * 10**9
_PLAUSIBLE = range(30 * _YEAR_NS, 130 * _YEAR_NS)  # 2000 to 2100: others are left as they are


def newest_time(requests: Iterable[tuple[str, bytes]]) -> int | None:
    """The newest plausible time in (signal, protobuf bytes) pairs; None when there is none."""
    newest: int | None = None
    for signal, body in requests:
        kind = request_class(Signal[signal.upper()])
        for holder, name in _times(kind.FromString(body)):
            value = getattr(holder, name)
            if value in _PLAUSIBLE and (newest is None or value > newest):
                newest = value
    return newest


def shift_times(
    requests: Iterable[tuple[str, bytes]], newest_ns: int, target_ns: int | None = None
) -> Iterator[tuple[str, bytes]]:
    """The same requests with all times moved so that `newest_ns` becomes `target_ns`.

    Args:
        requests: (signal, protobuf bytes).
        newest_ns: What `newest_time` found over all of them.
        target_ns: Nanoseconds since the epoch; None means now.
    """
    delta = (time.time_ns() if target_ns is None else target_ns) - newest_ns
    for signal, body in requests:
        message = request_class(Signal[signal.upper()]).FromString(body)
        for holder, name in _times(message):
            value = getattr(holder, name)
            if value in _PLAUSIBLE:
                setattr(holder, name, max(0, value + delta))
        yield signal, message.SerializeToString()


def _times(message: Any) -> Iterator[tuple[Any, str]]:
    """(message, field name) of every time below `message`."""
    names, holders = _plan(message.DESCRIPTOR)
    for name in names:
        yield message, name
    for name, is_repeated in holders:
        if is_repeated:
            for child in getattr(message, name):
                yield from _times(child)
        elif message.HasField(name):
            yield from _times(getattr(message, name))


@cache
def _plan(descriptor: Descriptor) -> tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]:
    """Time fields of a message type, and fields of it below which there are more."""
    names = tuple(field.name for field in descriptor.fields if _is_time(field.name))
    holders = tuple(
        (field.name, field.is_repeated)
        for field in descriptor.fields
        if field.message_type is not None and _holds_times(field.message_type)
    )
    return names, holders


@cache
def _holds_times(descriptor: Descriptor) -> bool:
    """True when a message type has times at any depth. AnyValue is recursive and has none."""
    if descriptor.name in {"AnyValue", "KeyValue", "Resource", "InstrumentationScope"}:
        return False
    return any(
        _is_time(field.name)
        or (field.message_type is not None and _holds_times(field.message_type))
        for field in descriptor.fields
    )


def _is_time(name: str) -> bool:
    return name.endswith("time_unix_nano")
