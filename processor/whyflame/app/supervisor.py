"""`whyflame serve`: starts the receiver and store processes, restarts them, stops them in order.

Children watch a pipe to this process: when it ends, however it ends, they stop too. A child that
dies is started again; what it had acknowledged is in the journal.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from whyflame import telemetry
from whyflame.errors import WhyflameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from whyflame.config import Config

__all__ = ["Addresses", "Child", "Supervisor"]

_LOG = logging.getLogger(__name__)
START_SECONDS = 60.0
RESTART_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
# A child that lived this long had started well: its next death is a new story.
STABLE_SECONDS = 30.0
STOP_SECONDS = 30.0
JOIN_SECONDS = 1.0
# What a receiver has acknowledged is safe in the journal: where processors are short, storing it
# waits, until the limit of the journal lets senders wait instead.
STORE_NICENESS = 5


@dataclass(slots=True)
class Addresses:
    """Where the processes listen, with real port numbers."""

    grpc: str = ""
    http: str = ""
    api: str = ""


@dataclass(slots=True)
class Child:
    """One supervised process.

    Attributes:
        name: For logs. run: Its main function; gets the arguments, then the pipe.
        arguments: Picklable; the configuration first. process, pipe: Of the current life.
        started: Clock at its start. deaths: In a row, without a stable life between.
    """

    name: str
    run: Callable[..., None]
    arguments: tuple[Any, ...]
    process: SpawnProcess | None = None
    pipe: Connection | None = None
    started: float = 0.0
    deaths: int = 0


@dataclass(slots=True)
class Supervisor:
    """Runs children until stopped.

    Args:
        config: The whole configuration, for addresses in messages.
        receivers: Receiver processes, stopped first. store: The store process, stopped last.
        metrics_dir: Where the processes share their metrics.
    """

    config: Config
    receivers: list[Child]
    store: Child
    metrics_dir: Path
    addresses: Addresses = field(default_factory=Addresses)
    _stopping: bool = False

    def start(self) -> None:
        """Start every child and wait until each listens.

        Raises:
            WhyflameError: A child failed to start; its own message is passed on.
        """
        telemetry.use_directory(self.metrics_dir)
        try:
            first, *others = self.receivers
            self._launch(self.store)
            self._launch(first)
            self._await(self.store)
            self._await(first)
            # Further receivers share the ports that the first one was given.
            self._keep_ports()
            for child in others:
                self._launch(child)
            for child in others:
                self._await(child)
            self._tell_store(ready=True)
        except BaseException:
            self.stop()
            raise

    def run(self) -> None:
        """Watch the children until a signal asks to stop; then stop them in order."""
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: self._ask_to_stop())
        try:
            while not self._stopping:
                self._watch()
        finally:
            self.stop()

    def stop(self) -> None:
        """Not ready, then receivers drain, then the store indexes the rest, checkpoints, exits."""
        self._stopping = True
        self._tell_store(ready=False)
        for child in self.receivers:
            _terminate(child)
        for child in self.receivers:
            _join(child)
        _terminate(self.store)
        _join(self.store)

    def _ask_to_stop(self) -> None:
        self._stopping = True

    def _watch(self) -> None:
        children = [*self.receivers, self.store]
        sentinels = {c.process.sentinel: c for c in children if c.process is not None}
        for sentinel in wait(list(sentinels), timeout=0.5):
            if self._stopping:
                return
            self._restart(sentinels[sentinel])  # type: ignore[index]

    def _restart(self, child: Child) -> None:
        process = child.process
        if process is None:
            return
        process.join(JOIN_SECONDS)  # its pipe closes a moment before it has an exit code
        stable = time.monotonic() - child.started > STABLE_SECONDS
        child.deaths = 1 if stable else child.deaths + 1
        pause = RESTART_SECONDS[min(child.deaths, len(RESTART_SECONDS)) - 1]
        level = logging.ERROR if process.exitcode else logging.INFO
        _LOG.log(level, "%s ended with code %s; starting it again", child.name, process.exitcode)
        if process.pid is not None:
            telemetry.mark_process_dead(process.pid, self.metrics_dir)
        time.sleep(pause)
        try:
            self._launch(child)
            self._await(child)
            self._tell_store(ready=True)
        except WhyflameError as error:
            _LOG.error("%s: %s", child.name, error)

    def _launch(self, child: Child) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        niceness = STORE_NICENESS if child is self.store else 0
        child.process = context.Process(
            target=_run, args=(niceness, child.run, *child.arguments, theirs), name=child.name
        )
        with _interrupts_ignored():
            child.process.start()
        theirs.close()
        child.pipe, child.started = ours, time.monotonic()

    def _await(self, child: Child) -> None:
        """Wait until a launched child says where it listens."""
        pipe, process = child.pipe, child.process
        if pipe is None or process is None:
            return
        message: dict[str, str] = {"busy": ""}
        try:
            while "busy" in message:
                if not pipe.poll(START_SECONDS):
                    raise WhyflameError(f"{child.name} did not start within {START_SECONDS:.0f} s")
                message = pipe.recv()
        except EOFError:
            process.join(5)
            raise WhyflameError(
                f"{child.name} ended at start with code {process.exitcode}"
            ) from None
        if "error" in message:
            raise WhyflameError(message["error"])
        for name, address in message.items():
            setattr(self.addresses, name, address)

    def _keep_ports(self) -> None:
        """A child that is started again listens where it did before."""
        config = self.config
        otlp = replace(config.otlp, grpc=self.addresses.grpc, http=self.addresses.http)
        http = replace(config.http, listen=self.addresses.api)
        self.config = replace(config, otlp=otlp, http=http)
        for child in (*self.receivers, self.store):
            child.arguments = (self.config, *child.arguments[1:])

    def _tell_store(self, *, ready: bool) -> None:
        pipe = self.store.pipe
        if pipe is None:
            return
        try:
            receiving = {"grpc": self.addresses.grpc, "http": self.addresses.http}
            pipe.send({"ready": ready, "receiving": receiving})
        except OSError:
            _LOG.debug("the store process is gone")


def _run(niceness: int, run: Callable[..., None], *arguments: Any) -> None:
    """In the child."""
    with contextlib.suppress(
        OSError
    ):  # never asks for a right, but a sandbox may know no such call
        os.nice(niceness)
    run(*arguments)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A process that starts in here ignores Ctrl-C until it says itself what is to be done.

    A terminal sends it to all processes of a command, and one that still imports would print where;
    the supervisor stops it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # where signals cannot be set, and no terminal is either
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _terminate(child: Child) -> None:
    if child.process is not None and child.process.is_alive():
        child.process.terminate()


def _join(child: Child) -> None:
    if child.process is None:
        return
    child.process.join(STOP_SECONDS)
    if child.process.is_alive():
        _LOG.error("%s did not stop within %.0f s; killing it", child.name, STOP_SECONDS)
        child.process.kill()
        child.process.join()
