"""The HTTP port of the store process: questions, the page, and what may be asked of the stages."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from whyflame import native
from whyflame.app.build import JOURNAL, now_ns
from whyflame.app.forget import ForgetRequest, result_of, write_down
from whyflame.app.offline import segment_in
from whyflame.config import AuthConfig, cannot_listen, parse_address
from whyflame.connections import BoundedProtocol
from whyflame.errors import WhyflameError
from whyflame.journal import JournalWriter, PendingLimit, Signal, pending_bytes
from whyflame.journal.parts import check_parts
from whyflame.serve.api import Actions, build_api
from whyflame.serve.outbox import outbox_routes
from whyflame.serve.pyroscope import pyroscope_routes
from whyflame.serve.runner import Runner
from whyflame.serve.store_questions import StoreQuestions

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.applications import Starlette

    from whyflame.app.build import Pipeline
    from whyflame.app.state import State
    from whyflame.config import Config, HttpConfig, TlsConfig
    from whyflame.export import ExportJob

__all__ = ["Port", "build_app", "listen", "serve"]

# Without anything being stored, until a request to segment is carried out all the same.
CATCH_UP_SECONDS = 30.0
# Time for the answer to leave before the process ends itself.
ANSWER_SECONDS = 0.2


def build_app(
    config: Config, pipeline: Pipeline, writer: JournalWriter, state: State, metrics_dir: Path
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


def _questions(config: Config, pipeline: Pipeline, state: State) -> StoreQuestions:
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


def _actions(config: Config, pipeline: Pipeline, writer: JournalWriter, state: State) -> Actions:
    data_dir = pipeline.store.path.parent
    pending = PendingLimit(data_dir / JOURNAL, config.otlp.max_pending_bytes)
    return Actions(
        is_ready=lambda: takes_data(state, pending),
        ingest=partial(_ingest, writer, pending),
        segment=lambda *asked: segment_now(pipeline, config, state, asked),
        forget=lambda session, user, tenant: _forget(
            data_dir, state, ForgetRequest(tenant, session, user)
        ),
        forgotten=lambda identifier, tenant: result_of(data_dir, identifier, tenant),
    )


def _ingest(
    writer: JournalWriter, pending: PendingLimit, name: str, body: bytes, tenant: str
) -> None:
    check_parts(body)
    pending.admit(len(body))
    writer.append(body, signal=Signal[name.upper()], received_ns=now_ns(), tenant=tenant)


def takes_data(state: State, pending: PendingLimit) -> bool:
    """Not while starting, stopping, or while so much waits that receivers refuse."""
    return state.receivers_ready and not state.stopping.is_set() and not pending.is_full


def _forget(data_dir: Path, state: State, request: ForgetRequest) -> str:
    """Write the request down and end: the next store process carries it out before it serves."""
    identifier = write_down(data_dir, request)
    threading.Timer(ANSWER_SECONDS, state.stopping.set).start()
    return identifier


@contextlib.contextmanager
def _outbox_changes(job: ExportJob | None, state: State) -> Iterator[None]:
    """Around a change of the outbox by hand; the export stage follows it at its next tick."""
    with state.exporting:
        yield
        if job is not None:
            job.look_again()


def segment_now(
    pipeline: Pipeline, config: Config, state: State, asked: tuple[str | None, str | None, str]
) -> dict[str, Any]:
    """Settle and segment: whoever asks means what they have sent.

    Where storing stands still, what is there is better than nothing; the rest is told.
    """
    unstored = 0
    if not pipeline.indexer.wait_for_acknowledged(CATCH_UP_SECONDS, state.stopping):
        unstored = pending_bytes(pipeline.store.path.parent / JOURNAL)
    with state.settling:
        return segment_in(pipeline, config, *asked) | {"unstored_bytes": unstored}


class Port(NamedTuple):
    """An open port: connections queue until `serve` takes them."""

    listener: socket.socket
    tls: ssl.SSLContext | None


def listen(http: HttpConfig) -> Port:
    """Open the port.

    Raises:
        WhyflameError: It, or its certificate, cannot be had; says what to do.
    """
    address, tls = http.listen, _certificate(http.tls)
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
    return Port(listener, tls)


def _certificate(tls: TlsConfig) -> ssl.SSLContext | None:
    if not tls.cert_file:
        return None
    from whyflame.receive.tls import ssl_context  # imports gRPC

    return ssl_context(tls)


async def serve(app: Any, port: Port, state: State) -> None:
    """Answer until the process is asked to stop."""
    import uvicorn

    class Server(uvicorn.Server):
        """Signals belong to the process, not to its HTTP server."""

        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    settings = uvicorn.Config(
        app, http=BoundedProtocol, log_config=None, access_log=False, lifespan="off", ws="none",
        server_header=False, timeout_graceful_shutdown=5,
    )  # fmt: skip
    settings.load()
    settings.ssl = port.tls
    server = Server(settings)
    serving = asyncio.create_task(server.serve(sockets=[port.listener]))
    while not state.stopping.is_set() and not serving.done():
        await asyncio.to_thread(state.stopping.wait, 0.2)
    server.should_exit = True
    await serving
