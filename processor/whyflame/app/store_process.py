"""The store process: index, settle, export and HTTP, a thread each, over one open store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame import native, telemetry
from whyflame.allocator import share_arenas
from whyflame.app.build import JOURNAL, Pipeline, build_pipeline, now_ns
from whyflame.app.collector import calm_collector
from whyflame.app.forget import ForgetRequest, carry_out_waiting, result_of, write_down
from whyflame.app.gauges import CoverageGauges
from whyflame.app.memory import give_back
from whyflame.app.offline import segment_in
from whyflame.config import AuthConfig, cannot_listen, parse_address
from whyflame.connections import BoundedProtocol, raise_descriptor_limit
from whyflame.errors import StoreBroken, TransientError, WhyflameError
from whyflame.journal import JournalWriter, PendingLimit, Signal, pending_bytes
from whyflame.journal.parts import check_parts
from whyflame.serve.api import Actions, build_api
from whyflame.serve.outbox import outbox_routes
from whyflame.serve.pyroscope import pyroscope_routes
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from starlette.applications import Starlette

    from whyflame.config import Config
    from whyflame.export import ExportJob
    from whyflame.index.indexer import Indexer

__all__ = ["run_store_process"]

_LOG = logging.getLogger(__name__)
# Between small batches: a commit costs some ms whatever it holds.
INDEX_SECONDS = 0.1
EXPORT_SECONDS = 2.0
# How long a settle group waits, at most, for an indexer that has fallen behind.
YIELD_SECONDS, YIELDS = 0.2, 100
# The same where the worker does most of it: less of a pass stands in the way.
WORKER_YIELDS = 50
FORWARD_SECONDS = 0.2
# Without anything being stored, until a request to segment is carried out all the same.
CATCH_UP_SECONDS = 30.0
SWEEP_SECONDS = 300.0
COVERAGE_SECONDS = 2.0
MEMORY_SECONDS = 15.0
FAILURE_PAUSE_SECONDS = 1.0
# Requests that came in over the API have a journal stream of their own.
API_STREAM = "api"
# Time for the answer to leave before the process ends itself.
ANSWER_SECONDS = 0.2
BUSY_SECONDS = 10.0


@dataclass(slots=True)
class _State:
    """What the threads of this process share."""

    stopping: threading.Event = field(default_factory=threading.Event)
    receivers_ready: bool = False
    # Where OTLP is received, with real port numbers: {"grpc": ..., "http": ...}.
    receiving: dict[str, str] = field(default_factory=dict)
    # The store must be opened again: there is nothing to wind up.
    broken: bool = False
    # One settle pass at a time: the periodic one, or one that a command asked for.
    settling: threading.Lock = field(default_factory=threading.Lock)
    # Payloads are numbered by one thread at a time: the export stage, or a change by hand.
    exporting: threading.Lock = field(default_factory=threading.Lock)
    # Seconds since somebody asked the store something.
    unasked: Callable[[], float] = lambda: 0.0


def run_store_process(config: Config, data_dir: str, metrics_dir: str, pipe: Connection) -> None:
    """Main function of the process; returns after an orderly stop.

    Args:
        config: The whole configuration. data_dir: Where store and journal are.
        metrics_dir: Metrics shared with the receivers.
        pipe: To the supervisor: sends {"api": "host:port"} or {"error": text}, receives
            {"ready": bool, "receiving": addresses}; its end means the supervisor is gone.
    """
    state = _State()
    share_arenas()
    raise_descriptor_limit()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: state.stopping.set())
    try:
        with _said_busy(pipe):
            carry_out_waiting(Path(data_dir), config)
        pipeline = build_pipeline(Path(data_dir), config, worker=True)
        listener = _listen(config.http.listen)
    except (WhyflameError, OSError) as error:
        pipe.send({"error": str(error)})
        return
    calm_collector()
    writer = JournalWriter(Path(data_dir) / JOURNAL, API_STREAM)
    try:
        _run(config, pipeline, writer, listener, state, Path(metrics_dir), pipe)
    finally:
        writer.close()
        if not state.broken:
            _wind_up(pipeline)


def _wind_up(pipeline: Pipeline) -> None:
    # What a full disk keeps from being indexed now is in the journal at the next start.
    with contextlib.suppress(TransientError):
        pipeline.indexer.drain()
    pipeline.close()


def _run(  # noqa: PLR0913, PLR0917 - the parts of one process
    config: Config,
    pipeline: Pipeline,
    writer: JournalWriter,
    listener: socket.socket,
    state: _State,
    metrics_dir: Path,
    pipe: Connection,
) -> None:
    """Start the threads, serve HTTP until asked to stop, join the threads."""
    threads = _threads(config, pipeline, state)
    threads.append(threading.Thread(target=_listen_to_supervisor, args=(pipe, state), daemon=True))
    app = _api(config, pipeline, writer, state, metrics_dir)
    for thread in threads:
        thread.start()
    host, port = listener.getsockname()[:2]
    pipe.send({"api": f"[{host}]:{port}" if ":" in host else f"{host}:{port}"})
    asyncio.run(_serve(app, listener, config, state))
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


def _threads(config: Config, pipeline: Pipeline, state: _State) -> list[threading.Thread]:
    """One for each stage; what the configuration leaves out has none."""
    threads = [
        _thread("index", state, lambda: _index(pipeline.indexer), INDEX_SECONDS),
        _thread("retention", state, lambda: _sweep(pipeline, state), SWEEP_SECONDS, eager=False),
        _thread(
            "settle", state, lambda: _settle(pipeline, state), config.segment.interval, eager=False
        ),
        _thread("coverage", state, CoverageGauges(pipeline).refresh, COVERAGE_SECONDS, eager=False),
        _thread(
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
            _thread("export", state, partial(_export, export, state), EXPORT_SECONDS, eager=False)
        )
    forwarding = pipeline.forwarding
    if forwarding is not None:
        forwarding.start()
        steps = forwarding.steps()
        threads += [_thread("forward", state, step, FORWARD_SECONDS) for step in steps]
    return threads


def _api(
    config: Config, pipeline: Pipeline, writer: JournalWriter, state: _State, metrics_dir: Path
) -> Starlette:
    """Questions, actions and the routes of others, as one application."""
    runner = Runner(pipeline.store, config.query)
    state.unasked = runner.unasked_seconds
    outbox_changes = partial(_outbox_changes, pipeline.export_job, state)
    routes = [
        *pyroscope_routes(runner, config, now_ns),
        *outbox_routes(pipeline.store, runner, now_ns, outbox_changes),
    ]
    actions = _actions(config, pipeline, writer, state)
    return build_api(
        _questions(config, pipeline, state), runner, actions, metrics_dir, config.http, routes
    )


def _questions(config: Config, pipeline: Pipeline, state: _State) -> StoreQuestions:
    return StoreQuestions(
        pipeline.store,
        config,
        now_ns,
        lambda: {
            "unsettled_traces": len(pipeline.unsettled),
            "journal_losses": pipeline.indexer.losses,
            "native": native.described(),
            "otlp": {
                **state.receiving,
                "tls": bool(config.otlp.tls.cert_file),
                "token": config.otlp.auth != AuthConfig(),
            },
        },
    )


def _actions(config: Config, pipeline: Pipeline, writer: JournalWriter, state: _State) -> Actions:
    data_dir = pipeline.store.path.parent
    pending = PendingLimit(data_dir / JOURNAL, config.otlp.max_pending_bytes)
    return Actions(
        is_ready=lambda: _takes_data(state, pending),
        ingest=partial(_ingest, writer),
        segment=lambda *asked: _segment_now(pipeline, config, state, asked),
        forget=lambda session, user, tenant: _forget(
            data_dir, state, ForgetRequest(tenant, session, user)
        ),
        forgotten=lambda identifier, tenant: result_of(data_dir, identifier, tenant),
    )


def _ingest(writer: JournalWriter, name: str, body: bytes, tenant: str) -> None:
    check_parts(body)
    writer.append(body, signal=Signal[name.upper()], received_ns=now_ns(), tenant=tenant)


def _takes_data(state: _State, pending: PendingLimit) -> bool:
    """Not while starting, stopping, or while so much waits that receivers refuse."""
    return state.receivers_ready and not state.stopping.is_set() and not pending.is_full


def _thread(
    name: str, state: _State, step: Callable[[], Any], pause: float, *, eager: bool = True
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


def _settle(pipeline: Pipeline, state: _State) -> None:
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


def _sweep(pipeline: Pipeline, state: _State) -> None:
    with state.settling:
        swept = pipeline.retention.sweep(now_ns())
    if swept.traces:
        telemetry.FORGOTTEN_TRACES.add(swept.traces)


def _forget(data_dir: Path, state: _State, request: ForgetRequest) -> str:
    """Write the request down and end: the next store process carries it out before it serves."""
    identifier = write_down(data_dir, request)
    threading.Timer(ANSWER_SECONDS, state.stopping.set).start()
    return identifier


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


def _export(job: ExportJob, state: _State) -> None:
    with state.exporting:
        job.tick()


@contextlib.contextmanager
def _outbox_changes(job: ExportJob | None, state: _State) -> Iterator[None]:
    """Around a change of the outbox by hand; the export stage follows it at its next tick."""
    with state.exporting:
        yield
        if job is not None:
            job.look_again()


def _segment_now(
    pipeline: Pipeline, config: Config, state: _State, asked: tuple[str | None, str | None, str]
) -> dict[str, Any]:
    # Whoever asks means what they have sent. Where storing stands still, what is there is better
    # than nothing.
    unstored = 0
    if not pipeline.indexer.wait_for_acknowledged(CATCH_UP_SECONDS, state.stopping):
        unstored = pending_bytes(pipeline.store.path.parent / JOURNAL)
    with state.settling:
        return segment_in(pipeline, config, *asked) | {"unstored_bytes": unstored}


def _listen_to_supervisor(pipe: Connection, state: _State) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            told = pipe.recv()
            state.receiving = told["receiving"]
            state.receivers_ready = bool(told["ready"])
    state.stopping.set()


def _listen(address: str) -> socket.socket:
    host, port = parse_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Connections queue from here on, before the server takes them.
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise WhyflameError(cannot_listen(address, "http.listen", error)) from error
    return listener


async def _serve(app: Any, listener: socket.socket, config: Config, state: _State) -> None:
    import uvicorn

    tls = config.http.tls
    options: dict[str, Any] = {}
    if tls.cert_file:
        options = {"ssl_certfile": tls.cert_file, "ssl_keyfile": tls.key_file}
    if tls.client_ca_file:
        import ssl

        options |= {"ssl_ca_certs": tls.client_ca_file, "ssl_cert_reqs": ssl.CERT_REQUIRED}

    class Server(uvicorn.Server):
        """Signals belong to the process, not to its HTTP server."""

        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    server = Server(
        uvicorn.Config(
            app, http=BoundedProtocol, log_config=None, access_log=False, lifespan="off", ws="none",
            server_header=False,
            timeout_graceful_shutdown=5, **options,
        )
    )  # fmt: skip
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not state.stopping.is_set() and not serving.done():
        await asyncio.to_thread(state.stopping.wait, 0.2)
    server.should_exit = True
    await serving
