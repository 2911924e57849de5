"""`whyflame demo`: a real collector on a temporary store, fed with bundled agent runs."""

from __future__ import annotations

import socket
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyflame.cli.serve import add_addresses, with_addresses
from whyflame.errors import WhyflameError

if TYPE_CHECKING:
    import argparse

    from whyflame.app.supervisor import Addresses
    from whyflame.config import Config
    from whyflame.serve.remote import RemoteQuestions

__all__ = ["add_parser", "run"]

WIDEST = 12


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "demo",
        help="see it work: a collector fed with bundled agent runs",
        description="Starts a collector on a temporary store, sends it a small fleet's day through "
        "its gRPC port, prints the widest tasks and the page's address.",
    )
    parser.add_argument("--once", action="store_true", help="exit when the table is printed")
    add_addresses(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Start, feed, print, and go on serving."""
    from whyflame.app.run import build_supervisor
    from whyflame.config import Config
    from whyflame.logs import set_up_logs

    set_up_logs()
    with tempfile.TemporaryDirectory(prefix="whyflame-demo-") as directory:
        config = with_addresses(_free_addresses(Config(data_dir=directory)), args)
        supervisor = build_supervisor(config)
        supervisor.start()
        try:
            _feed_and_show(supervisor.addresses)
            if args.once:
                print("It is gone with this command; without --once it stays.", flush=True)
            else:
                print("\nCtrl-C stops it and removes the temporary store.", flush=True)
                supervisor.run()
        finally:
            supervisor.stop()
    return 0


def _feed_and_show(where: Addresses) -> None:
    from whyflame import demo_data
    from whyflame.cli.top import print_top, widest
    from whyflame.sending import Sender, shift_times
    from whyflame.serve.questions import Filter
    from whyflame.serve.remote import RemoteQuestions

    manifest = demo_data.manifest()
    recording = manifest["recording"]
    print(
        f"sending {recording['spans']:,} spans of {len(manifest['sessions']):,} agent sessions to "
        f"{where.grpc} (OTLP/gRPC)",
        file=sys.stderr,
        flush=True,
    )
    with Sender(where.grpc) as sender:
        # As if the fleet's day ended now: the page and Pyroscope look at recent times.
        for signal, body in shift_times(demo_data.requests(), recording["end_ns"], None):
            sender.send(signal, body)
    server = RemoteQuestions(f"http://{where.api}")
    server.segment(None, None)
    print_top(*widest(server, ("task",), Filter()), ("task",), WIDEST)
    _check(server, manifest["totals"])
    print(f"\nflame graph: http://{where.api}/")


def _check(server: RemoteQuestions, sent: dict[str, Any]) -> None:
    """Compare what the store says with what the model server counted."""
    from whyflame.serve.questions import Filter

    (row,) = server.totals((), Filter())["rows"]
    wrong = [
        f"{key}: sent {value}, stored {row[key]}"
        for key, value in sent.items()
        if row[key] != value
    ]
    if wrong:
        raise WhyflameError("totals differ from what was sent: " + "; ".join(wrong))
    tokens = row["input_tokens"] + row["output_tokens"]
    print(f"{tokens:,} tokens sent, {tokens:,} tokens found: they add up exactly")


def _free_addresses(config: Config) -> Config:
    """The usual ports where they are free, any free port elsewhere."""
    otlp = replace(config.otlp, grpc=_if_free(config.otlp.grpc), http=_if_free(config.otlp.http))
    return replace(
        config, otlp=otlp, http=replace(config.http, listen=_if_free(config.http.listen))
    )


def _if_free(address: str) -> str:
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return f"{host}:0"
    return address
