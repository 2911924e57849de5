"""The stages of the store process, a thread each: what they do between two pauses, and how they fail."""

from __future__ import annotations

import logging
import shutil
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from whyflame import telemetry
from whyflame.app.build import now_ns
from whyflame.app.gauges import CoverageGauges
from whyflame.app.memory import give_back
from whyflame.errors import StoreBroken

if TYPE_CHECKING:
    from collections.abc import Callable

    from whyflame.app.build import Pipeline
    from whyflame.app.state import State
    from whyflame.config import Config
    from whyflame.export import ExportJob
    from whyflame.index.indexer import Indexer

__all__ = ["stage_threads"]

_LOG = logging.getLogger(__name__)
# Between small batches: a commit costs some ms whatever it holds.
INDEX_SECONDS = 0.1
EXPORT_SECONDS = 2.0
FORWARD_SECONDS = 0.2
SWEEP_SECONDS = 300.0
COVERAGE_SECONDS = 2.0
MEMORY_SECONDS = 15.0
FAILURE_PAUSE_SECONDS = 1.0
# How long a settle group waits, at most, for an indexer that has fallen behind.
YIELD_SECONDS, YIELDS = 0.2, 100
# The same where the worker does most of it: less of a pass stands in the way.
WORKER_YIELDS = 50


def stage_threads(config: Config, pipeline: Pipeline, state: State) -> list[threading.Thread]:
    """One for each stage; what the configuration leaves out has none."""
    threads = [
        repeat("index", state, lambda: _index(pipeline.indexer), INDEX_SECONDS),
        repeat("retention", state, lambda: _sweep(pipeline, state), SWEEP_SECONDS, eager=False),
        repeat(
            "settle", state, lambda: _settle(pipeline, state), config.segment.interval, eager=False
        ),
        repeat("coverage", state, CoverageGauges(pipeline).refresh, COVERAGE_SECONDS, eager=False),
        repeat(
            "memory",
            state,
            lambda: give_back(pipeline.store, state.unasked()),
            MEMORY_SECONDS,
            eager=False,
        ),
    ]
    export = pipeline.export_job
    if export is not None:
        export.start()
        threads.append(
            repeat("export", state, partial(_export, export, state), EXPORT_SECONDS, eager=False)
        )
    forwarding = pipeline.forwarding
    if forwarding is not None:
        forwarding.start()
        steps = forwarding.steps()
        threads += [repeat("forward", state, step, FORWARD_SECONDS) for step in steps]
    return threads


def repeat(
    name: str, state: State, step: Callable[[], Any], pause: float, *, eager: bool = True
) -> threading.Thread:
    """A thread that repeats a step; an error is counted and the step tried again.

    Args:
        name: Stage name. state: Tells when to stop. step: What to repeat.
        pause: Seconds between steps. eager: Do not pause while the step had work to do.
    """

    def loop() -> None:
        while not state.stopping.is_set():
            try:
                worked = step()
            except StoreBroken as error:
                _LOG.error("%s; this process ends and the next one does so", error)
                state.broken = True
                state.stopping.set()
                continue
            except Exception as error:  # noqa: BLE001 - a stage must outlive any one input
                if state.stopping.is_set():
                    return  # a stop breaks off what would take long
                telemetry.STAGE_FAILURES.add(1, name)
                # The text of an unexpected error may quote content; its place may not.
                _LOG.error("%s failed: %s", name, type(error).__name__)
                _LOG.debug("%s failed", name, exc_info=error)
                state.stopping.wait(FAILURE_PAUSE_SECONDS)
                continue
            if not (eager and worked):
                state.stopping.wait(pause)

    return threading.Thread(target=loop, name=name)


def _index(indexer: Indexer) -> bool:
    """One batch; True when the next should follow at once."""
    return indexer.step() > 0 and indexer.is_behind


def _settle(pipeline: Pipeline, state: State) -> None:
    worker, indexer = pipeline.worker, pipeline.indexer

    def should_stop() -> bool:
        """Storing goes first: both need the interpreter, and what waits in the journal fills it."""
        telemetry.UNSETTLED_TRACES.set(len(pipeline.unsettled))
        waits = 0
        while not state.stopping.is_set():
            elsewhere = worker is not None and worker.pid is not None
            behind = indexer.is_far_behind if elsewhere else indexer.is_behind
            if not behind or waits >= (WORKER_YIELDS if elsewhere else YIELDS):
                break
            state.stopping.wait(YIELD_SECONDS)
            waits += 1
        # A long backlog must not hold up the stop: it is found again at the next start.
        return state.stopping.is_set()

    with state.settling:
        pipeline.settle_job.tick(should_stop=should_stop)
        if worker is not None:
            worker.rest()
    telemetry.UNSETTLED_TRACES.set(len(pipeline.unsettled))
    telemetry.STORE_BYTES.set(pipeline.store.database_bytes())
    telemetry.DISK_FREE_BYTES.set(shutil.disk_usage(pipeline.store.path.parent).free)


def _sweep(pipeline: Pipeline, state: State) -> None:
    with state.settling:
        swept = pipeline.retention.sweep(now_ns())
    if swept.traces:
        telemetry.FORGOTTEN_TRACES.add(swept.traces)


def _export(job: ExportJob, state: State) -> None:
    with state.exporting:
        job.tick()
