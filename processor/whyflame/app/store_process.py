"""The store process: index, settle, export and HTTP, a thread each, over one open store."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.allocator import share_arenas
from whyflame.app.build import JOURNAL, Pipeline, build_pipeline
from whyflame.app.collector import calm_collector
from whyflame.app.forget import carry_out_waiting
from whyflame.app.http_port import Port, build_app, listen, serve
from whyflame.app.stages import stage_threads
from whyflame.app.state import State
from whyflame.connections import raise_descriptor_limit
from whyflame.errors import TransientError, WhyflameError
from whyflame.journal import JournalWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from starlette.applications import Starlette

    from whyflame.config import Config

__all__ = ["run_store_process"]

# Requests that came in over the API have a journal stream of their own.
API_STREAM = "api"
BUSY_SECONDS = 10.0


def run_store_process(config: Config, data_dir: str, metrics_dir: str, pipe: Connection) -> None:
    """Main function of the process; returns after an orderly stop.

    Args:
        config: The whole configuration. data_dir: Where store and journal are.
        metrics_dir: Metrics shared with the receivers.
        pipe: To the supervisor: sends {"api": "host:port"} or {"error": text}, receives
            {"ready": bool, "receiving": addresses}; its end means the supervisor is gone.
    """
    state = State()
    share_arenas()
    raise_descriptor_limit()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: state.stopping.set())
    try:
        with _said_busy(pipe):
            carry_out_waiting(Path(data_dir), config)
        pipeline = build_pipeline(Path(data_dir), config, worker=True)
        port = listen(config.http)
        writer = JournalWriter(Path(data_dir) / JOURNAL, API_STREAM)
        app = build_app(config, pipeline, writer, state, Path(metrics_dir))
    except (WhyflameError, OSError) as error:
        pipe.send({"error": str(error)})
        return
    calm_collector()
    try:
        _run(config, pipeline, app, port, state, pipe)
    finally:
        writer.close()
        if not state.broken:
            _wind_up(pipeline)


def _wind_up(pipeline: Pipeline) -> None:
    # What a full disk keeps from being indexed now is in the journal at the next start.
    with contextlib.suppress(TransientError):
        pipeline.indexer.drain()
    pipeline.close()


def _run(
    config: Config,
    pipeline: Pipeline,
    app: Starlette,
    http: Port,
    state: State,
    pipe: Connection,
) -> None:
    """Start the threads, serve HTTP until asked to stop, join the threads."""
    threads = stage_threads(config, pipeline, state)
    threads.append(threading.Thread(target=_listen_to_supervisor, args=(pipe, state), daemon=True))
    for thread in threads:
        thread.start()
    host, port = http.listener.getsockname()[:2]
    pipe.send({"api": f"[{host}]:{port}" if ":" in host else f"{host}:{port}"})
    asyncio.run(serve(app, http, state))
    state.stopping.set()
    if pipeline.worker is not None:
        pipeline.worker.interrupt()
    if pipeline.forwarding is not None:
        pipeline.forwarding.stop()
    for thread in threads:
        if not thread.daemon:
            thread.join()
    if pipeline.export_job is not None:
        pipeline.export_job.close(deadline_seconds=5.0)


@contextlib.contextmanager
def _said_busy(pipe: Connection) -> Iterator[None]:
    """Tell the supervisor again and again that the start takes longer, so that it waits."""
    done = threading.Event()

    def say() -> None:
        while not done.wait(BUSY_SECONDS):
            with contextlib.suppress(OSError):
                pipe.send({"busy": "forgetting"})

    thread = threading.Thread(target=say, name="busy")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _listen_to_supervisor(pipe: Connection, state: State) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            told = pipe.recv()
            state.receiving = told["receiving"]
            state.receivers_ready = bool(told["ready"])
    state.stopping.set()
