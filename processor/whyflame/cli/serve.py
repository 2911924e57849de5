"""`whyflame serve`: the collector."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import load_config

if TYPE_CHECKING:
    import argparse

    from whyflame.config import Config

__all__ = ["add_addresses", "add_parser", "run", "with_addresses"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "serve",
        help="the collector: OTLP in, profiles out",
        description="Receives OTLP, stores, segments, pushes and answers, until stopped.",
    )
    parser.add_argument("--config", metavar="F", help="YAML; `whyflame config default` shows all")
    parser.add_argument("--data-dir", metavar="D", help="where journal and store live")
    add_addresses(parser)
    parser.set_defaults(run=run)


def add_addresses(parser: argparse.ArgumentParser) -> None:
    """Options that override where to listen; port 0 takes any free one."""
    parser.add_argument("--otlp-grpc", metavar="H:P", help="OTLP/gRPC (default 127.0.0.1:4317)")
    parser.add_argument("--otlp-http", metavar="H:P", help="OTLP/HTTP (default 127.0.0.1:4318)")
    parser.add_argument("--http", metavar="H:P", help="API and page (default 127.0.0.1:4319)")


def with_addresses(config: Config, args: argparse.Namespace) -> Config:
    """The configuration with the addresses of the command line."""
    from whyflame.config import parse_address
    from whyflame.errors import ConfigError, UsageError

    for option in ("otlp_grpc", "otlp_http", "http"):
        address = getattr(args, option)
        if address:
            try:
                parse_address(address)
            except (ConfigError, ValueError) as error:
                raise UsageError(f"--{option.replace('_', '-')}: {error}") from error
    otlp, http = config.otlp, config.http
    if args.otlp_grpc:
        otlp = replace(otlp, grpc=args.otlp_grpc)
    if args.otlp_http:
        otlp = replace(otlp, http=args.otlp_http)
    if args.http:
        http = replace(http, listen=args.http)
    return replace(config, otlp=otlp, http=http)


def run(args: argparse.Namespace) -> int:
    """Start everything and watch it."""
    from whyflame.app.run import build_supervisor, resolve_data_dir
    from whyflame.config import cautions
    from whyflame.logs import set_up_logs

    set_up_logs()
    config = with_addresses(load_config(args), args)
    if args.data_dir:
        config = replace(config, data_dir=args.data_dir)
    for caution in cautions(config):
        print(f"whyflame: note: {caution}", file=sys.stderr)
    supervisor = build_supervisor(config)
    supervisor.start()
    where = supervisor.addresses
    scheme = "https" if config.http.tls.cert_file else "http"
    print(
        f"whyflame is ready: OTLP/gRPC {where.grpc}, OTLP/HTTP {where.http}, "
        f"page {scheme}://{where.api}/; data in {resolve_data_dir(config)}",
        file=sys.stderr,
        flush=True,
    )
    supervisor.run()
    return 0
