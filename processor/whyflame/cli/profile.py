"""`whyflame profile`: one profile into a file."""

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

    from whyflame.serve.questions import ProfileRequest

__all__ = ["add_parser", "run"]

# Beside those that every question needs; other formats than the usual one are read when written.
_MODULES = ("whyflame.serve.questions", "whyflame.fold.pprof")

FORMATS = ("pprof", "folded", "svg", "json", "speedscope", "tree")


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "profile",
        help="a flame graph or pprof file",
        description="Writes one profile: what the frames of a view cost. Example: whyflame profile "
        "--view cost --since 7d -o cost.svg",
    )
    parser.add_argument(
        "--view",
        default="tokens",
        help="tokens, cost, time, operations, errors, files, network or a configured one "
        "(default tokens)",
    )
    parser.add_argument("--measure", help="what width means, instead of the view's own")
    parser.add_argument("--stack", default="", metavar="F,F,...", help="fields, outermost first")
    parser.add_argument(
        "--labels",
        default=None,
        metavar="F,...",
        help="fields that label samples (default in pprof files: agent, model, outcome)",
    )
    add_waits(parser)
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of FILE")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="where to; - for stdout"
    )
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, encode, write."""
    with questions(args, *_MODULES) as asked:
        body = asked.profile(*_request(args))
    write(body, args.output)
    return 0


def _request(args: argparse.Namespace) -> tuple[ProfileRequest, str]:
    """What is asked for, and in which format."""
    from whyflame.fold.encode import format_of
    from whyflame.fold.views import FILE_LABELS
    from whyflame.serve.questions import ProfileRequest

    encoding = args.format or format_of(args.output)
    labels: tuple[str, ...] = FILE_LABELS if encoding == "pprof" else ()
    stack = split_fields(args.stack)
    if args.labels is not None:
        labels = split_fields(args.labels)
    request = ProfileRequest(
        view=args.view,
        measure=args.measure,
        stack=stack,
        labels=tuple(name for name in labels if name not in stack),
        filter=chosen_filter(args),
        waits=args.waits,
    )
    return request, encoding
