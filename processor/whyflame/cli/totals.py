"""`whyflame totals`: exact sums, and what they rest on."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

from whyflame.cli.target import add_filters, add_target, chosen_filter, questions, split_fields

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "totals",
        help="exact sums of tokens, cost, calls, errors, time",
        description="Sums operations exactly and says what the sums rest on; - is unknown. Example: "
        "whyflame totals --by agent,model --where outcome=failure",
    )
    parser.add_argument("--by", default="", metavar="FIELD,...", help="one row for each value")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    add_filters(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    by = split_fields(args.by)
    with questions(args) as asked:
        answer = asked.totals(by, chosen_filter(args))
    if args.format == "json":
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    elif args.format == "csv":
        _print_csv(answer["rows"])
    else:
        from whyflame.cli.tables import print_coverage, print_totals

        print_totals(answer["rows"], by)
        print_coverage(answer["coverage"])
    return 0


def _print_csv(rows: list[dict[str, Any]]) -> None:
    if rows:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
