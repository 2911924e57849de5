"""`serve`: children and addresses of one supervised whyflame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whyflame.app.opening import make_data_dir
from whyflame.app.store_process import run_store_process
from whyflame.app.supervisor import Child, Supervisor
from whyflame.config import default_data_dir, read_environment, use_one_thread
from whyflame.errors import WhyflameError
from whyflame.logs import set_up_logs

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from whyflame.config import Config

__all__ = ["build_supervisor", "resolve_data_dir"]


def resolve_data_dir(config: Config) -> Path:
    """The configured directory, else the user's state directory."""
    if config.data_dir:
        return Path(config.data_dir).expanduser()
    return default_data_dir(read_environment(), Path.home())


def build_supervisor(config: Config) -> Supervisor:
    """One store process and the configured number of receivers, not started yet."""
    data_dir = resolve_data_dir(config)
    make_data_dir(data_dir)
    use_one_thread()
    metrics_dir = data_dir / "run" / "metrics"
    receivers = [
        Child(f"receiver-{number}", _receiver, (config, str(data_dir), f"r{number}"))
        for number in range(config.otlp.processes)
    ]
    store = Child("store", _store, (config, str(data_dir), str(metrics_dir)))
    return Supervisor(config, receivers, store, metrics_dir)


def _store(config: Config, data_dir: str, metrics_dir: str, pipe: Connection) -> None:
    set_up_logs()
    run_store_process(config, data_dir, metrics_dir, pipe)


def _receiver(config: Config, data_dir: str, stream: str, pipe: Connection) -> None:
    """Main function of a receiver process."""
    from whyflame.receive.server import run_receiver

    set_up_logs()
    try:
        run_receiver(
            config,
            Path(data_dir),
            stream,
            lambda got: pipe.send({"grpc": got.grpc, "http": got.http}),
        )
    except (WhyflameError, OSError) as error:
        pipe.send({"error": str(error)})
