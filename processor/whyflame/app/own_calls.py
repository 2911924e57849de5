"""Hands the segmenter's own model calls to the journal, so that they are stored like any agent's."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from whyflame import telemetry
from whyflame.errors import StoreError, TransientError
from whyflame.journal import JournalWriter, Signal
from whyflame.segment.llm.accounting import request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from whyflame.segment.llm.budget import LlmCall

__all__ = ["OwnCalls"]

_LOG = logging.getLogger(__name__)
STREAM = "own"
MOST_WAITING = 1_000


class OwnCalls:
    """One request a pass, written once; used by one thread at a time.

    A full disk keeps requests waiting; their ids make a repeat harmless.

    Args:
        journal_dir: Where the stream is opened when there is something to write.
        clock_ns: Now, in nanoseconds.
    """

    def __init__(self, journal_dir: Path, clock_ns: Callable[[], int]) -> None:
        self._journal_dir = journal_dir
        self._clock_ns = clock_ns
        self._writer: JournalWriter | None = None
        self._waiting: deque[tuple[str, bytes, int]] = deque()

    def put(self, tenant: str, calls: Sequence[LlmCall]) -> None:
        """Write the calls of one pass down, and what waits from before."""
        if calls:
            self._waiting.append((tenant, request_of(tenant, calls), len(calls)))
        while len(self._waiting) > MOST_WAITING:
            _, _, lost = self._waiting.popleft()
            telemetry.DROPPED_SPANS.add(lost, "own_calls")
        try:
            self._write()
        except (TransientError, StoreError, OSError) as error:
            _LOG.warning("the segmenter's own calls wait for the journal: %s", error)

    def _write(self) -> None:
        while self._waiting:
            if self._writer is None:
                self._writer = JournalWriter(self._journal_dir, STREAM)
            tenant, body, _ = self._waiting[0]
            self._writer.append(
                body, signal=Signal.TRACES, received_ns=self._clock_ns(), tenant=tenant
            )
            self._waiting.popleft()

    def close(self) -> None:
        """Try what waits once more, then release the stream."""
        self.put("", ())
        if self._writer is not None:
            self._writer.close()
            self._writer = None
