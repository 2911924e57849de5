"""`whyflame segment`: settle and segment now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whyflame.cli.tables import number_of
from whyflame.cli.target import add_target, data_dir, load_config, remote

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

__all__ = ["add_parser", "print_rules", "run"]

SAMPLES = 10
INSTEAD = {
    "no_excerpts": "no excerpts of their texts were kept (content.mode: excerpt keeps them)",
    "endpoint": "segment.options.endpoint gave no answer",
    "budget": "segment.options.tokens_per_hour are spent",
    "invalid": "the model's answers were not what it was asked for",
}
"""Why a lane is not marked by the model, by the outcome that the segmenter counts."""


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
    print(f"settled {number_of(done['traces'], 'trace')}, {number_of(done['operations'], 'span')}")
    if unstored := done.get("unstored_bytes"):
        print(
            f"{unstored / 1e6:.1f} MB of what the server acknowledged are not stored yet, and "
            "nothing of it is settled: its log and /metrics say why storing stands still; ask again",
            file=sys.stderr,
        )
    if "model" in done:
        _print_model(done["model"])
    if "rules" in done:
        print_rules(done["rules"])
    return 0


def _print_model(outcomes: Mapping[str, int]) -> None:
    """How many lanes the model marked, and what would make it mark the others."""
    marked = sum(count for name, count in outcomes.items() if name not in INSTEAD)
    print(f"{number_of(marked, 'lane')} marked by the model")
    for name, why in INSTEAD.items():
        if count := outcomes.get(name):
            print(f" ! {number_of(count, 'lane')} left to auto: {why}")


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
