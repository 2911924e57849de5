"""`whyflame import`: files of telemetry into the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_target, load_config, remote

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "import",
        help="OTLP captures into the store; safe to repeat",
        description="Reads OTLP captures (.binpb, .json, .jsonl, also gzipped; directories too). "
        "Importing the same file again changes nothing.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH")
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read every file, index, settle."""
    from whyflame.importers import read_captures

    captures = read_captures([Path(path) for path in args.paths])
    if args.data_dir:
        from whyflame.app.offline import import_captures

        done = import_captures(
            Path(args.data_dir).expanduser(), load_config(args), captures, args.tenant
        )
        print(
            f"imported {done['requests']:,} requests: {done['stored']:,} new spans, "
            f"{done['repeated']:,} known already",
            file=sys.stderr,
        )
        return 0
    server, requests = remote(args), 0
    for signal, body in captures:
        server.ingest(signal, body)
        requests += 1
    print(f"handed {requests:,} requests to the server", file=sys.stderr)
    return 0
