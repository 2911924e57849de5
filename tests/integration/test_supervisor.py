"""The processes of one server: who stands back for whom."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from whyflame.app.supervisor import Child, Supervisor
from whyflame.config import Config

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path


def child(config: Config, name: str, pipe: Connection) -> None:
    """Says how nice it is where it would say where it listens; ends with its pipe."""
    pipe.send({name: str(os.nice(0))})
    while pipe.recv():
        pass


def tells_interrupts(pipe: Connection) -> None:
    """Says what Ctrl-C would do to it before it decides."""
    pipe.send({"api": str(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)})


def test_ctrl_c_while_it_starts_prints_no_trace_of_a_child(tmp_path: Path) -> None:
    """A terminal interrupts every process; one that still imports leaves the word to its parent."""
    config, store = Config(), Child("store", tells_interrupts, ())
    supervisor = Supervisor(config, [], store, tmp_path / "metrics")
    before = signal.getsignal(signal.SIGINT)
    try:
        supervisor._launch(store)
        supervisor._await(store)
        assert supervisor.addresses.api == "True"
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        supervisor.stop()


def test_storing_stands_back_for_acknowledging(tmp_path: Path) -> None:
    """The store process is nicer than the receivers, also in its next life."""
    config = Config()
    receivers = [Child("receiver-0", child, (config, "grpc"))]
    store = Child("store", child, (config, "api"))
    supervisor = Supervisor(config, receivers, store, tmp_path / "metrics")
    own = os.nice(0)
    try:
        for one in (*receivers, store):
            supervisor._launch(one)
            supervisor._await(one)
        assert (supervisor.addresses.grpc, supervisor.addresses.api) == (str(own), str(own + 5))
        assert store.process is not None
        store.process.kill()
        store.process.join()
        supervisor.addresses.api = ""
        supervisor._launch(store)
        supervisor._await(store)
        assert supervisor.addresses.api == str(own + 5)
    finally:
        supervisor.stop()
