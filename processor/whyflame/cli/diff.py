"""`whyflame diff`: what differs between two sets of runs, and what of it may be noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyflame.cli.output import write
from whyflame.cli.target import (
    add_filters,
    add_target,
    add_waits,
    chosen_filter,
    questions,
    split_fields,
)

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]

ENDINGS = {".pb.gz": "pprof", ".pb": "pprof", ".svg": "svg", ".json": "json", ".txt": "table"}


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "diff",
        help="what differs between two sets of runs",
        description="Compares two sets of operations, per run, with a 95 % bootstrap interval for "
        "each frame. Example: whyflame diff --base outcome=success --target outcome=failure "
        "--pair-by root",
    )
    for side, text in (("base", "what is compared with"), ("target", "what is looked at")):
        parser.add_argument(
            f"--{side}", action="append", required=True, metavar="F=V", help=f"{text}; repeatable"
        )
    parser.add_argument("--view", default="tokens", help="as for `profile` (default tokens)")
    parser.add_argument("--measure", help="instead of the view's own")
    parser.add_argument("--stack", default="", metavar="F,F,...", help="fields, outermost first")
    add_waits(parser)
    parser.add_argument(
        "--per", choices=("run", "session"), default="run", help="what values are averaged over"
    )
    parser.add_argument(
        "--pair-by", metavar="FIELD", help="compare like with like: root pairs runs of one goal"
    )
    parser.add_argument("--format", choices=("table", "json", "pprof", "svg"))
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="default: stdout")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask and write."""
    from whyflame.serve.questions import DiffRequest, ProfileRequest

    asked_profile = ProfileRequest(
        view=args.view,
        measure=args.measure,
        stack=split_fields(args.stack),
        filter=chosen_filter(args),
        waits=args.waits,
    )
    request = DiffRequest(
        profile=asked_profile,
        base=tuple(args.base),
        target=tuple(args.target),
        unit=args.per,
        pair_by=args.pair_by,
    )
    with questions(args, "whyflame.serve.differences", "whyflame.fold.compare") as asked:
        body = asked.diff(request, args.format or _format_of(args.output))
    write(body, args.output)
    return 0


def _format_of(output: str) -> str:
    for ending, name in ENDINGS.items():
        if output.endswith(ending):
            return name
    return "table"
