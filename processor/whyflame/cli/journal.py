"""`whyflame journal`: what lies in the journal of a data directory."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import data_dir, load_config, refuse_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from whyflame.journal.inspect import SegmentReport

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "journal",
        help="what was received and is not indexed, or is kept",
        description="Lists the segments of the journal: requests, damage, and what waits to be "
        "indexed. Only reads, also while a server runs, but for --reindex. Kept segments (.wfj) can be given to "
        "`whyflame import` and `whyflame send`.",
    )
    parser.add_argument("--data-dir", required=True, metavar="DIR")
    parser.add_argument(
        "--reindex",
        action="store_true",
        help="read what is kept again by today's rules, in a store that no server is using",
    )
    parser.add_argument("--config", metavar="F", help="configuration, for --reindex")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    refuse_target(
        parser,
        "the journal is read from its files, also while a server uses them: give the server's "
        "--data-dir DIR, on its machine; whyflame_journal_pending_bytes in URL/metrics tells how far "
        "a server is behind",
        "--url",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one row a segment.

    Raises:
        NothingMatched: The directory holds no journal.
    """
    from whyflame.errors import NothingMatched
    from whyflame.journal.inspect import inspect_journal

    if args.reindex:
        return _reindex(args)
    reports = list(inspect_journal(data_dir(args) / "journal"))
    if not reports:
        raise NothingMatched(f"no journal in {args.data_dir}")
    if args.format == "json":
        print(json.dumps([asdict(report) for report in reports], indent=2))
    else:
        _print_table(reports)
    return 0


def _reindex(args: argparse.Namespace) -> int:
    from whyflame.app.offline import reindex

    done = reindex(data_dir(args), load_config(args))
    print(
        f"read {done['requests']:,} requests again: {done['renewed']:,} spans renewed, "
        f"{done['added']:,} added"
    )
    return 0


def _print_table(reports: Iterable[SegmentReport]) -> None:
    from whyflame.cli.tables import console, count, moment, table

    rows = table("stream", "segment", "bytes", "requests", "pending", "damaged", "last received",
                 numbers=range(1, 6))  # fmt: skip
    for report in reports:
        rows.add_row(
            report.stream,
            str(report.sequence),
            count(report.size_bytes),
            count(sum(report.frames.values())),
            count(report.pending_bytes),
            count(report.damaged_bytes),
            moment(report.last_received_ns),
        )
    console().print(rows)
