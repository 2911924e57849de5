"""What lies in a journal, read without moving any position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whyflame.journal.frame import (
    HEADER_BYTES,
    find_header,
    is_intact,
    padding_bytes,
    read_header,
)
from whyflame.journal.segments import Position, list_segments, list_streams, segment_path
from whyflame.journal.tail import read_applied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whyflame.journal.frame import Header

__all__ = ["SegmentReport", "inspect_journal", "scan_segment"]


@dataclass(slots=True)
class SegmentReport:
    """One segment file.

    Attributes:
        stream, sequence: Which one.
        size_bytes: Of the file.
        frames: Intact frames by signal.
        damaged_bytes: Bytes that belong to no intact frame.
        first_received_ns, last_received_ns: None without frames.
        pending_bytes: Not indexed yet, as far as the store has published.
    """

    stream: str
    sequence: int
    size_bytes: int = 0
    frames: dict[str, int] = field(default_factory=dict)
    damaged_bytes: int = 0
    first_received_ns: int | None = None
    last_received_ns: int | None = None
    pending_bytes: int = 0


def scan_segment(data: bytes) -> Iterator[tuple[Header, bytes]]:
    """(header, payload) of every intact frame in the bytes of a segment file."""
    for header, at in _intact_frames(data):
        begin = at + HEADER_BYTES + header.tenant_bytes
        yield header, data[begin : begin + header.payload_bytes]


def _intact_frames(data: bytes) -> Iterator[tuple[Header, int]]:
    """Headers and where their frames begin."""
    at = find_header(data, 0)
    while at is not None:
        header = read_header(data, at)
        end = at + header.frame_bytes if header is not None else at
        if header is None or end > len(data):
            return
        if is_intact(header, data, at):
            yield header, at
        at = find_header(data, end)


def inspect_journal(journal_dir: Path) -> Iterator[SegmentReport]:
    """A report of every segment, by stream and sequence; reads all of them."""
    applied = read_applied(journal_dir)
    for stream in list_streams(journal_dir):
        position = applied.get(stream, Position())
        for sequence in list_segments(journal_dir / stream):
            try:
                data = segment_path(journal_dir / stream, sequence).read_bytes()
            except FileNotFoundError:
                continue  # indexed and deleted while we looked
            yield _report(SegmentReport(stream, sequence, len(data)), data, position)


def _report(report: SegmentReport, data: bytes, position: Position) -> SegmentReport:
    intact = 0
    for header, at in _intact_frames(data):
        intact += header.frame_bytes + padding_bytes(data, at + header.frame_bytes, 0)
        label = header.signal.label
        report.frames[label] = report.frames.get(label, 0) + 1
        if report.first_received_ns is None:
            report.first_received_ns = header.received_ns
        report.last_received_ns = header.received_ns
    report.damaged_bytes = len(data) - intact
    if report.sequence >= position.segment:
        read = position.offset if report.sequence == position.segment else 0
        report.pending_bytes = max(0, len(data) - read)
    return report
