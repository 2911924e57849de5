"""The settle worker: large passes run in a process of their own, beside storing.

Rules, segmentation and the making of columns are Python: in the store process they would share one
interpreter with the indexer. The worker gets rows and gives back columns; it opens no store and
keeps nothing between passes, so whatever becomes of it, what was not written stays unsettled
(docs/decisions/0018-settle-worker.md).
"""

from __future__ import annotations

import contextlib
import logging
import marshal
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from whyflame.app.collector import calm_collector
from whyflame.app.segments import StoredSegments
from whyflame.config import default_memory_limit
from whyflame.errors import TransientError
from whyflame.logs import set_up_logs
from whyflame.segment.llm.budget import PaidSegmenter
from whyflame.segment.registry import choose_segmenter
from whyflame.settle.rules import build_settle
from whyflame.settle.work import Found, work_out
from whyflame.store.duck import DEFAULT_MEMORY_LIMIT
from whyflame.store.span_rows import SpanRows
from whyflame.store.unsettled import Group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from whyflame.config import Config
    from whyflame.segment.segmenter import Segmenter
    from whyflame.settle.work import Segment, Settle
    from whyflame.store.marks import LaneName, MarkRow
    from whyflame.store.past import Past

__all__ = ["SettleWorker", "build_worker"]

_LOG = logging.getLogger(__name__)
# Storing goes first when there are not enough processors for both: a tenth of one is left for it.
NICENESS = 10
# It takes one or two seconds until it can work, and as long for a pass; of the largest session that
# joins, a minute. What hangs for so long is killed.
START_SECONDS = 60.0
PASS_SECONDS = 600.0
# Unused so long, it gives its memory back.
IDLE_SECONDS = 120.0
# After so many deaths in that time passes run in this process for as long: settling must go on.
MOST_DEATHS = 3
REST_SECONDS = 600.0
STOP_SECONDS = 5.0
# More than a pass has alive at once: looking through its spans for cycles took 3 us each.
ALLOCATIONS = 1_000_000


def build_worker(config: Config, segmenter: Segmenter, past: Past) -> SettleWorker | None:
    """A worker as configured, not started yet; None where it would be of no use.

    Args:
        config: The whole configuration. segmenter: The one in use; asking a model costs time
            that nobody computes in, and its account is kept here.
        past: The store.
    """
    if not config.settle.worker_spans or isinstance(segmenter, PaidSegmenter):
        return None
    if _processors() == 1 or default_memory_limit() < DEFAULT_MEMORY_LIMIT:
        return None
    return SettleWorker(config, past)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SettleWorker:
    """Runs passes in another process; used by one thread.

    Args:
        config: The whole configuration. past: Answers what segmenting asks of the store.
    """

    def __init__(self, config: Config, past: Past) -> None:
        self._config = config
        self._past = past
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._rests_until = 0.0
        self._used = 0.0

    @property
    def pid(self) -> int | None:
        """Of the process, None while there is none."""
        return None if self._process is None else self._process.pid

    def accepts(self, spans: int) -> bool:
        """Whether a pass of so many spans is worth the way; small ones are done sooner here."""
        return spans >= self._config.settle.worker_spans and time.monotonic() >= self._rests_until

    def work_out(self, group: Group, rows: SpanRows) -> Found:
        """What the pass finds, as `settle.work.work_out` would here.

        Raises:
            TransientError: The worker died, hung, or failed; the next pass gets a new one.
        """
        request = (list(rows.columns), dict(rows.origins), group.trace_keys, group.earlier_runs)
        try:
            pipe = self._started()
            # Plain values: a tenth of the price of pickling them. Version 2 looks for none that is
            # there twice.
            asked = marshal.dumps(request, 2)
            with self._killed_after(PASS_SECONDS):
                pipe.send_bytes(asked)
                kind, found = self._converse(pipe)
        except (EOFError, OSError) as error:
            self._count_death()
            raise TransientError("the settle worker ended; the pass is tried again") from error
        except BaseException:
            # In the middle of a conversation: nobody knows what would be answered next.
            self.close()
            raise
        self._used = time.monotonic()
        if kind == "failed":
            raise TransientError(f"the settle worker failed: {found}")
        answer: Found = found
        return answer

    def interrupt(self) -> None:
        """Break off the pass that is running, from any thread: what it was for stays unsettled."""
        process = self._process
        if process is not None:
            with contextlib.suppress(ValueError):  # it was closed meanwhile
                process.terminate()

    def rest(self) -> None:
        """End the process if it has had nothing to do for a while."""
        if self._process is not None and time.monotonic() - self._used > IDLE_SECONDS:
            self.close()

    def close(self) -> None:
        """End the process, if there is one; the next pass starts another."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            # It ends with its pipe, unless it is in the middle of a pass that nobody waits for.
            process.terminate()
            process.join(STOP_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            with theirs:
                process = context.Process(
                    target=_run, args=(self._config, theirs), name="settle", daemon=True
                )
                process.start()
            self._process, self._pipe = process, ours
            # One that cannot read yet would leave us in the middle of sending.
            with self._killed_after(START_SECONDS):
                ours.recv()
        return self._pipe

    @contextlib.contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        """The process ends in so long at the latest, and with it whatever waits for it."""
        process = self._process

        def kill() -> None:
            with contextlib.suppress(ValueError):  # it was closed meanwhile
                if process is not None:
                    process.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _converse(self, pipe: Connection) -> tuple[str, Any]:
        """Answer questions about the past until the worker says what it found."""
        while True:
            kind, value = pipe.recv()
            if kind == "marks":
                pipe.send(self._past.marks(value))
            elif kind == "exported":
                pipe.send(self._past.exported(value))
            else:
                return kind, value

    def _count_death(self) -> None:
        now = time.monotonic()
        self.close()
        # Passes in between that went well say nothing about the one that kills.
        self._deaths.append(now)
        if len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < REST_SECONDS:
            self._deaths.clear()
            self._rests_until = now + REST_SECONDS
            _LOG.error("the settle worker died %d times; settling goes on without it", MOST_DEATHS)


class _DistantPast:
    """What the store says, asked over the pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def marks(self, sessions: Collection[tuple[str, str]]) -> Mapping[LaneName, MarkRow]:
        return self._ask("marks", sorted(sessions))

    def exported(self, wanted: Mapping[int, int]) -> Mapping[int, tuple[str, ...]]:
        return self._ask("exported", wanted) if wanted else {}

    def _ask(self, kind: str, value: Any) -> Mapping[Any, Any]:
        self._pipe.send((kind, value))
        answer: Mapping[Any, Any] = self._pipe.recv()
        return answer


def _run(config: Config, pipe: Connection) -> None:
    """Main function of the process: one pass after the other, until the pipe ends."""
    set_up_logs()
    # A terminal's Ctrl-C reaches every process: the store process says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    settle = build_settle(config)
    chosen = choose_segmenter(config.segment)
    segment = StoredSegments(_DistantPast(pipe), chosen.segmenter, setup=chosen.setup)
    calm_collector(ALLOCATIONS)
    with contextlib.suppress(EOFError, OSError):
        pipe.send("ready")
        while True:
            pipe.send(_pass(pipe.recv_bytes(), settle, segment))


def _pass(request: bytes, settle: Settle, segment: Segment) -> tuple[str, Any]:
    try:
        columns, origins, trace_keys, earlier_runs = marshal.loads(request)  # noqa: S302 - of our own parent
        group = Group(trace_keys=trace_keys, earlier_runs=earlier_runs)
        group.take(SpanRows(columns, origins))
        del columns
        return "found", work_out(group, settle, segment)
    except Exception as error:  # noqa: BLE001 - as a stage, it must outlive any one input
        _LOG.debug("settle worker", exc_info=error)
        # The text of an unexpected error may quote content.
        return "failed", type(error).__name__
