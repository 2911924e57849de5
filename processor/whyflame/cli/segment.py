"""`whyflame segment`: settle and segment now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_target, data_dir, load_config, remote

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "print_rules", "run"]

SAMPLES = 10


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "segment",
        help="settle and segment now",
        description="Settles what has arrived without waiting for it to go quiet, and names its "
        "tasks; with --session or --segmenter it does so again for what is settled already.",
    )
    parser.add_argument("--segmenter", metavar="N", help="instead of the configured one")
    parser.add_argument("--session", metavar="S", help="this session only")
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it in the store or ask the server."""
    if args.data_dir:
        from whyflame.app.offline import segment_now

        done = segment_now(
            data_dir(args), load_config(args), args.session, args.segmenter, args.tenant
        )
    else:
        done = remote(args).segment(args.session, args.segmenter)
    print(f"settled {done['traces']:,} traces, {done['operations']:,} spans")
    if unstored := done.get("unstored_bytes"):
        print(
            f"{unstored / 1e6:.1f} MB of what the server acknowledged are not stored yet, and "
            "nothing of it is settled: its log and /metrics say why storing stands still; ask again",
            file=sys.stderr,
        )
    if "rules" in done:
        print_rules(done["rules"])
    return 0


def print_rules(coverage: dict[str, Any], width: int = 0) -> None:
    """What a person, or an agent, improves rules by."""
    print(
        f"{'rules':>{width}} {coverage['unmatched_rate']:.1%} of the texts unmatched, largest tag "
        f"{coverage['top1']:.0%}, evenness {coverage['entropy']:.2f}"
    )
    for warning in coverage["warnings"]:
        print(f"{'':>{width}} ! {warning}")
    for sample in coverage["samples"][:SAMPLES]:
        print(f"{'unmatched':>{width}} {sample[:80]}")
