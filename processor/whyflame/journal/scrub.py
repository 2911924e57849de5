"""Blanking what must be forgotten in indexed frames, in place, so that no position moves.

Spans and log records are taken out of a request; what is left is written back with a filler of the
same length that readers skip, and both checksums are made anew. Only indexed frames are touched: a
crash in between damages a frame that nobody will read again for indexing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from whyflame.journal.frame import (
    HEADER_BYTES,
    encode_head,
    find_header,
    is_intact,
    read_header,
)
from whyflame.journal.otlp_json import request_class
from whyflame.journal.segments import Position, list_segments, list_streams, segment_path
from whyflame.wire import bytes_field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whyflame.journal.frame import Header, Signal

__all__ = ["Forgotten", "scrub_journal"]

_FILLER = 0x7A  # field 15, a string of bytes: no OTLP request has it, so readers skip it
_LONG_FILLER = 6  # a tag, a length that always takes five bytes, and what it counts
# Shorter ids are looked for as whole values only: "7" occurs in every request.
_SURE_BYTES = 8
_PARTS = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
}


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is looked for.

    Attributes:
        tenant: Only frames of this tenant.
        trace_ids: Spans and records of these traces go.
        names: So do those that hold one of these texts: session ids, user ids.
    """

    tenant: str
    trace_ids: frozenset[bytes]
    names: frozenset[str]

    def needles(self) -> tuple[bytes, ...]:
        """Byte sequences that betray a name in an encoded message."""
        found = []
        for name in sorted(self.names):
            text = name.encode()
            is_sure = len(text) >= _SURE_BYTES
            found.append(text if is_sure else bytes_field(1, text))
        return tuple(found)


def scrub_journal(
    journal_dir: Path, positions: Mapping[str, Position], forgotten: Forgotten
) -> int:
    """Blank what is forgotten in every indexed frame.

    Args:
        journal_dir: Directory of all streams; their writers may run.
        positions: Up to where each stream is indexed.
        forgotten: What to look for.

    Returns:
        How many frames were changed.
    """
    changed = 0
    needles = forgotten.needles()
    for stream in list_streams(journal_dir):
        position = positions.get(stream, Position())
        for sequence in list_segments(journal_dir / stream):
            if sequence <= position.segment:
                end = position.offset if sequence == position.segment else None
                path = segment_path(journal_dir / stream, sequence)
                changed += _scrub_segment(path, end, forgotten, needles)
    return changed


def _scrub_segment(
    path: Path, end: int | None, forgotten: Forgotten, needles: tuple[bytes, ...]
) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, size if end is None else min(end, size), 0)
        changed = 0
        at = find_header(data, 0)
        while at is not None:
            header = read_header(data, at)
            if header is None or at + header.frame_bytes > len(data):
                break
            fresh = _scrubbed_frame(header, data, at, forgotten, needles)
            if fresh is not None:
                os.pwrite(descriptor, fresh, at)
                changed += 1
            at = find_header(data, at + header.frame_bytes)
        if changed:
            os.fsync(descriptor)
        return changed
    finally:
        os.close(descriptor)


def _scrubbed_frame(
    header: Header, data: bytes, at: int, forgotten: Forgotten, needles: tuple[bytes, ...]
) -> bytes | None:
    """The frame without what is forgotten, of equal length; None when it holds nothing of it."""
    tenant_at = at + HEADER_BYTES
    payload_at = tenant_at + header.tenant_bytes
    tenant = data[tenant_at:payload_at].decode(errors="replace")
    if tenant != forgotten.tenant or not is_intact(header, data, at):
        return None
    payload = data[payload_at : payload_at + header.payload_bytes]
    fresh = scrub_request(header.signal, payload, forgotten.trace_ids, needles)
    if fresh is None:
        return None
    head = encode_head(
        fresh,
        signal=header.signal,
        encoding=header.encoding,
        tenant=tenant,
        received_ns=header.received_ns,
    )
    return head + fresh


def scrub_request(
    signal: Signal, payload: bytes, trace_ids: frozenset[bytes], needles: tuple[bytes, ...]
) -> bytes | None:
    """A request of equal length without what is forgotten; None when it holds nothing of it."""
    if not any(found in payload for found in (*needles, *trace_ids)):
        return None
    try:
        message = request_class(signal).FromString(payload)
    except DecodeError:
        return _filler(len(payload))
    _remove(message, _PARTS[signal.label], trace_ids, needles)
    left = message.SerializeToString() if message.ByteSize() else b""
    if any(found in left for found in (*needles, *trace_ids)):
        left = b""  # it stands where no record owns it
    room = len(payload) - len(left)
    # A filler takes two bytes; a request that cannot be written shorter goes as a whole.
    return left + _filler(room) if room >= 2 else _filler(len(payload))  # noqa: PLR2004


def _remove(
    message: Any,
    parts: tuple[str, str, str],
    trace_ids: frozenset[bytes],
    needles: tuple[bytes, ...],
) -> None:
    resources, scopes, records = parts

    def is_forgotten(item: Any) -> bool:
        if getattr(item, "trace_id", None) in trace_ids:
            return True
        encoded = item.SerializeToString()
        return any(needle in encoded for needle in (*needles, *trace_ids))

    groups = getattr(message, resources)
    for group in list(groups):
        own = getattr(group, scopes)
        had = len(own)
        for scope in list(own):
            kept = [item for item in getattr(scope, records) if not is_forgotten(item)]
            if not kept:
                own.remove(scope)
            elif len(kept) < len(getattr(scope, records)):
                copies = [type(item).FromString(item.SerializeToString()) for item in kept]
                del getattr(scope, records)[:]
                getattr(scope, records).extend(copies)
        # What describes a producer goes with the last of its records.
        if is_forgotten(group.resource) or (had and not own):
            groups.remove(group)


def _filler(length: int) -> bytes:
    """A field of exactly so many bytes that every reader skips."""
    if length >= _LONG_FILLER:
        counted = length - _LONG_FILLER
        sizes = bytes(0x80 | (counted >> shift & 0x7F) for shift in (0, 7, 14, 21))
        return bytes((_FILLER,)) + sizes + bytes((counted >> 28 & 0x7F,)) + bytes(counted)
    return bytes((_FILLER, length - 2)) + bytes(length - 2) if length else b""
