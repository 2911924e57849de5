"""Durable log of requests as received: frames in segment files, written before the acknowledgement.

Receivers (one stream each)::

    writer = JournalWriter(journal_dir, "r0", segment_bytes=config.journal.segment_bytes)
    limit = PendingLimit(journal_dir, config.otlp.max_pending_bytes)
    limit.admit(len(payload))                       # raises Backpressure
    writer.append(payload, signal=Signal.TRACES, received_ns=now)    # returns once durable
    writer.close()

The index stage (reads all streams, those that appear later included)::

    tail = JournalTail(journal_dir, stored_positions, retention_seconds=config.journal.retention)
    batch = tail.read(8 << 20)       # Batch(frames, positions); frames is () when idle
    ... one transaction: rows of batch.frames, and batch.positions ...
    tail.applied(batch.positions, now_seconds)      # after the commit: deletes, unblocks receivers

`batch.positions` may move without frames (damage skipped, next segment): store and apply it
whenever it differs from the last one. `Frame` has stream, tenant, signal, encoding, received_ns,
payload (protobuf bytes), position_after. A frame that cannot be indexed goes to the dead letters;
the position moves on regardless.

`otlp_json.to_protobuf` turns OTLP/JSON into the protobuf bytes that a frame holds.
"""

from whyflame.journal.frame import Encoding, Signal
from whyflame.journal.pending import PendingLimit
from whyflame.journal.reader import Frame, JournalReader, Losses
from whyflame.journal.segments import Position
from whyflame.journal.tail import (
    Batch,
    JournalTail,
    pending_bytes,
    publish_applied,
    read_applied,
)
from whyflame.journal.writer import JournalWriter

__all__ = [
    "Batch",
    "Encoding",
    "Frame",
    "JournalReader",
    "JournalTail",
    "JournalWriter",
    "Losses",
    "PendingLimit",
    "Position",
    "Signal",
    "pending_bytes",
    "publish_applied",
    "read_applied",
]
